#pragma once
// A program's queues: one for each hop's copies, and one for what each GPU does in its own memory;
// or, in turn, one for all copies of a GPU to others.

#include <map>
#include <vector>

#include "collective/program/tuning.h"
#include "machine/machine.h"
#include "model/program.h"

namespace polypath::collective {

class ProgramQueues {
 public:
  /// All of these outlive it.
  ProgramQueues(const Machine& machine, const Tuning& tuning, Program& program)
      : machine_(machine),
        tuning_(tuning),
        program_(program),
        of_hops_(machine.hops.size(), -1),
        of_places_(machine.places.size(), -1) {}

  /// The queue's number in the program.
  int number(const Queue& queue);
  /// That of copies over a hop.
  [[nodiscard]] Queue over(HopId hop);
  /// Adds what the program's next node comes after, so that GPUs send to one in turn. The next GPU
  /// to send to one awaits the one before: ranks that are out of step would stay so, and send to
  /// one at the same time in each turn.
  void take_turn(const Node& node, std::vector<int>& after);

 private:
  /// Which GPU sends to one, and its last copy there.
  struct Turn {
    PlaceId from;
    int last = -1;
  };

  const Machine& machine_;
  const Tuning& tuning_;
  Program& program_;
  std::vector<int> of_hops_, of_places_;  ///< numbers; -1 of those that there are not yet
  std::map<PlaceId, Queue> in_turn_;      ///< each GPU's for all its copies to others
  std::map<PlaceId, Turn> turns_;
};

}  // namespace polypath::collective
