#pragma once
// Plans whose copies at an end are made by the GPU that has the memory there.
//
// Memory of pools and of virtual addresses is open to some GPUs only, most often to its own. A
// relay must not touch it, so its own GPU does: it pushes into the relay's staging memory and pulls
// out of it. Shares and chunks are those of the plan. The relay's own copies need no event between
// two GPUs; these do, which takes a few microseconds more for each chunk.

#include <compare>
#include <cstddef>
#include <mutex>
#include <utility>

#include "engine/call/copy_call.h"
#include "machine/machine.h"
#include "plan/lru_cache.h"

namespace polypath::engine {

/// The ends of a copy that relays must not touch.
struct OwnEnds {
  bool destination = false;
  bool source = false;

  auto operator<=>(const OwnEnds&) const = default;
  [[nodiscard]] bool any() const { return destination || source; }
  static OwnEnds of(const CopyEnds& ends) {
    return {.destination = !ends.destination_reach.everyone(),
            .source = !ends.source_reach.everyone()};
  }
};

/// Thread-safe; never waits.
class PlansByOwners {
 public:
  /// `slots` as in program_of. Keeps so many plans.
  PlansByOwners(const Machine& machine, int slots, std::size_t most)
      : machine_(machine), slots_(slots), plans_(most) {}

  /// The plan for such ends: itself where its copies are made that way already. Null stays null.
  [[nodiscard]] PlanPointer of(const PlanPointer& plan, OwnEnds own);

 private:
  [[nodiscard]] Path by_owners(Path path, OwnEnds own) const;
  [[nodiscard]] bool is_by_owners(const Plan& plan, OwnEnds own) const;
  [[nodiscard]] PlanPointer make(const Plan& plan, OwnEnds own) const;

  const Machine& machine_;
  int slots_;
  std::mutex mutex_;
  LruCache<std::pair<PlanPointer, OwnEnds>, PlanPointer> plans_;
};

}  // namespace polypath::engine
