#include "collective/program/scratch_slots.h"

#include "collective/program/tuning.h"

namespace polypath::collective {

Slice ScratchSlots::next(HopId filled_over, bool of_a_path) {
  Slots& slots = slots_[{filled_over, of_a_path}];
  const int first = of_a_path ? kPieceSlots : 0, joined = of_a_path ? 1 : joined_;
  const int most = of_a_path ? kStagingSlots : kPieceSlots / joined;
  const std::size_t next = slots.next++ % static_cast<std::size_t>(most);
  if (next == slots.buffers.size())
    slots.buffers.push_back(
        program_.add(ProgramBuffer{.place = machine_.hop(filled_over).destination,
                                   .filled_over = filled_over,
                                   .slot = first + static_cast<int>(next) * joined,
                                   .slots = joined,
                                   .kept = true}));
  return {slots.buffers[next], {}};
}

}  // namespace polypath::collective
