// Room for streams.

#include <algorithm>
#include <array>

#include "standin/state/streams.h"

namespace polypath::standin {
namespace {

constexpr std::array<std::size_t, 5> kRoom{35, 78, 163, 291, 416};

std::size_t room_for(std::size_t streams) {
  const auto* const room = std::lower_bound(kRoom.begin(), kRoom.end(), streams);
  return room == kRoom.end() ? streams : *room;
}

}  // namespace

Waiting Streams::release_memory(const Context& context) {
  std::size_t& room = room_.try_emplace(context.id, kRoom.front()).first->second;
  std::size_t wanted = 1;
  for (const auto& [handle, stream] : streams_.all())
    if (stream->context == context.handle && !stream->legacy) ++wanted;
  if (wanted <= room) return {};
  room = room_for(wanted);
  return runner_.finish_gpu(context.gpu);
}

Waiting Streams::collect(PlaceId gpu) {
  return left_behind_.erase(gpu) > 0 ? runner_.finish_gpu(gpu) : Waiting{};
}

}  // namespace polypath::standin
