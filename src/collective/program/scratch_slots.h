#pragma once
// A program's scratch memory: a few slots for each hop that fills them, used in turn.

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "machine/machine.h"
#include "model/program.h"

namespace polypath::collective {

class ScratchSlots {
 public:
  /// Machine and program outlive this. `joined` slots are one for pieces.
  ScratchSlots(const Machine& machine, int joined, Program& program)
      : machine_(machine), joined_(joined), program_(program) {}

  /// The least recently asked for of the slots that copies over the hop fill. Those of staged paths
  /// are others.
  Slice next(HopId filled_over, bool of_a_path);

 private:
  struct Slots {
    std::vector<int> buffers;
    std::size_t next = 0;
  };

  const Machine& machine_;
  int joined_;
  Program& program_;
  std::map<std::pair<HopId, bool>, Slots> slots_;
};

}  // namespace polypath::collective
