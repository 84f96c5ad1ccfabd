#pragma once
// A stream as the chaotic driver has it: entries that run one after another.

#include <cstdint>
#include <deque>
#include <memory>

#include "standin/chaos/entry.h"

namespace polypath::standin::chaos {

struct Queue {
  PlaceId gpu;
  std::deque<EntryPointer> entries;  ///< unfinished ones, in order
  EntryPointer last;                 ///< the newest one, finished or not; null before the first
  std::vector<EntryPointer> joined;  ///< of other queues: the next entry comes after them
  std::uint64_t priority = 0;        ///< among the queues that can go on
  int host_functions = 0;            ///< unfinished ones
  bool closed = false;               ///< nothing more comes
};
using QueuePointer = std::shared_ptr<Queue>;

}  // namespace polypath::standin::chaos
