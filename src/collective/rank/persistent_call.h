#pragma once
// A call that is made again and again.

#include <cstdint>
#include <utility>

#include "collective/program/call.h"
#include "collective/rank/rank_run.h"
#include "communicator/node/call_record.h"

namespace polypath::collective {

/// The results of the first call stay with it, so that the next calls do not look for them.
class PersistentCall {
 public:
  explicit PersistentCall(CollectiveCall call) : call_(std::move(call)) {}
  [[nodiscard]] const CollectiveCall& call() const { return call_; }

 private:
  friend class NodeCollectives;

  CollectiveCall call_;
  std::uint64_t found_by_ = 0;  ///< KnownPrograms::number(); 0: nothing was found
  CallRecord record_;
  BoundPart part_, part_for_capture_;
};

}  // namespace polypath::collective
