#pragma once
// A stream as the chaotic driver has it: entries that run one after another.

#include <cstdint>
#include <deque>
#include <memory>

#include "standin/abi.h"
#include "standin/chaos/entry.h"

namespace polypath::standin::chaos {

/// A queue of the hardware, which several streams share. Work that is held in the queue holds up
/// copies that come into it later, of any stream.
struct Channel {
  int used = 0;  ///< slots
};

struct Queue {
  PlaceId gpu;
  ContextPointer context = nullptr;
  std::shared_ptr<Channel> channel;
  std::deque<EntryPointer> entries;  ///< unfinished ones, in order
  EntryPointer last;                 ///< the newest one, finished or not; null before the first
  std::vector<EntryPointer> joined;  ///< of other queues: the next entry comes after them
  std::uint64_t priority = 0;        ///< among the queues that can go on
  bool closed = false;               ///< nothing more comes
};
using QueuePointer = std::shared_ptr<Queue>;

}  // namespace polypath::standin::chaos
