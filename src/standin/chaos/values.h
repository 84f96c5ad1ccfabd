#pragma once
// Jobs that wait for a value in memory, or write one.

#include "standin/chaos/copying.h"
#include "standin/state/work.h"

namespace polypath::standin::chaos {

class WaitForValue final : public Job {
 public:
  WaitForValue(Place where, const MemoryValue& value) : where_(std::move(where)), value_(value) {}
  JobState step(Chance& chance) override;

 private:
  Place where_;
  MemoryValue value_;
};

class WriteValue final : public Job {
 public:
  WriteValue(Place where, const MemoryValue& value) : where_(std::move(where)), value_(value) {}
  JobState step(Chance& chance) override;

 private:
  Place where_;
  MemoryValue value_;
};

}  // namespace polypath::standin::chaos
