#pragma once
// Jobs that wait for a value in memory, or write one.

#include <memory>
#include <vector>

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

/// Several jobs one after another.
class Steps final : public Job {
 public:
  explicit Steps(std::vector<std::unique_ptr<Job>> jobs) : jobs_(std::move(jobs)) {}
  JobState step(Chance& chance) override;

 private:
  std::vector<std::unique_ptr<Job>> jobs_;
  std::size_t next_ = 0;
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
