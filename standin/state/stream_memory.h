#pragma once
// The memory of a GPU that streams take, and what waits for it.

#include <cstdint>
#include <map>
#include <set>

#include "standin/state/contexts.h"
#include "standin/state/runner.h"

namespace polypath::standin {

class StreamMemory {
 public:
  explicit StreamMemory(Runner& runner) : runner_(runner) {}

  /// The work that making so many streams of the context waits for, one of them a new one. H200s
  /// with driver 580 have room for so many at once; to get more room they wait for all work of the
  /// GPU, even work that the program holds back, and hold up other calls meanwhile
  /// (results/h200x1/held_streams.json).
  [[nodiscard]] Waiting make_room(const Context& context, std::size_t streams);
  /// A stream of the GPU has been destroyed.
  void leave_behind(PlaceId gpu) { left_behind_.insert(gpu); }
  /// The work that an allocation that finds no room on the GPU waits for: all that is queued there,
  /// if streams were destroyed since the last time, to free the memory that they have left behind
  /// (H200, results/h200x1/full_memory.json).
  [[nodiscard]] Waiting collect(PlaceId gpu);

 private:
  Runner& runner_;
  std::map<std::uint64_t, std::size_t> room_;  ///< for streams, by context
  std::set<PlaceId> left_behind_;              ///< GPUs of which streams were destroyed
};

}  // namespace polypath::standin
