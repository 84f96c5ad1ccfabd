#include "collective/program/scratch_slots.h"

#include "collective/program/tuning.h"

namespace polypath::collective {

Slice ScratchSlots::next(HopId filled_over, bool of_a_path) {
  Slots& slots = slots_[{filled_over, of_a_path}];
  const int first = of_a_path ? kPieceSlots : 0, most = of_a_path ? kStagingSlots : kPieceSlots;
  const std::size_t next = slots.next++ % static_cast<std::size_t>(most);
  if (next == slots.buffers.size())
    slots.buffers.push_back(program_.add(ProgramBuffer{
        machine_.hop(filled_over).destination, filled_over, first + static_cast<int>(next)}));
  return {slots.buffers[next], {}};
}

}  // namespace polypath::collective
