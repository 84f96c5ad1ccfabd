#include "standin/state/stream_memory.h"

#include <algorithm>
#include <array>

namespace polypath::standin {
namespace {

constexpr std::array<std::size_t, 5> kRoom{35, 78, 163, 291, 416};

std::size_t room_for(std::size_t streams) {
  const auto* const room = std::lower_bound(kRoom.begin(), kRoom.end(), streams);
  return room == kRoom.end() ? streams : *room;
}

}  // namespace

Waiting StreamMemory::make_room(const Context& context, std::size_t streams) {
  std::size_t& room = room_.try_emplace(context.id, kRoom.front()).first->second;
  if (streams <= room) return {};
  room = room_for(streams);
  return runner_.finish_gpu(context.gpu);
}

Waiting StreamMemory::collect(PlaceId gpu) {
  return left_behind_.erase(gpu) > 0 ? runner_.finish_gpu(gpu) : Waiting{};
}

}  // namespace polypath::standin
