#include "collective/program/tuning.h"

#include <algorithm>

namespace polypath::collective {

Settings with_collective_slots(Settings settings, const Machine& machine) {
  constexpr std::uint64_t kAlignment = 4096;
  const std::size_t gpus = machine.places_of(PlaceKind::gpu).size();
  settings.staging_slots = kPieceSlots + kStagingSlots;
  const std::uint64_t slots =
      static_cast<std::uint64_t>(settings.staging_slots) * (std::max<std::size_t>(gpus, 2) - 1);
  const std::uint64_t bytes = settings.collective_scratch.value / slots / kAlignment * kAlignment;
  settings.staging_slot = std::max({Bytes{bytes}, Bytes{kAlignment}, settings.min_chunk});
  return settings;
}

}  // namespace polypath::collective
