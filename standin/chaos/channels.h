#pragma once
// The hardware's queues, which the streams of a context share.

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "standin/chaos/queue.h"

namespace polypath::standin::chaos {

/// Each context has that many channels of that many slots, which its streams get by turns.
struct ChannelLimits {
  int slots;
  int channels;
};

class Channels {
 public:
  explicit Channels(ChannelLimits limits) : limits_(limits) {}

  const std::shared_ptr<Channel>& next(ContextPointer context);
  /// True if the queue's channel has so much room.
  [[nodiscard]] bool fits(const Queue& queue, int slots) const;

 private:
  ChannelLimits limits_;
  std::map<ContextPointer, std::vector<std::shared_ptr<Channel>>> of_;
  std::map<ContextPointer, std::size_t> turns_;  ///< how many streams have got one
};

}  // namespace polypath::standin::chaos
