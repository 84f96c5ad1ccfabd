#include "standin/chaos/channels.h"

namespace polypath::standin::chaos {

const std::shared_ptr<Channel>& Channels::next(ContextPointer context) {
  std::vector<std::shared_ptr<Channel>>& channels = of_[context];
  while (channels.size() < static_cast<std::size_t>(limits_.channels))
    channels.push_back(std::make_shared<Channel>());
  return channels[turns_[context]++ % channels.size()];
}

// An entry that takes more slots than a channel has goes alone.
bool Channels::fits(const Queue& queue, int slots) const {
  const int used = queue.channel->used;
  return slots == 0 || used == 0 || used + slots <= limits_.slots;
}

}  // namespace polypath::standin::chaos
