#include "model/program_bound.h"

#include <gtest/gtest.h>

#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::program_bound_test {
namespace {

// Copies of gpu0's memory to others, over their direct hops.
Program copies_to(const Machine& machine, std::initializer_list<const char*> destinations,
                  Bytes bytes) {
  Program program;
  const PlaceId source = machine.find_place("gpu0");
  const int from = program.add(ProgramBuffer{source});
  for (const char* name : destinations) {
    const PlaceId destination = machine.find_place(name);
    const HopId hop = machine.find_hop(source, destination).value();
    Node node;
    node.hop = hop;
    node.source.buffer = from;
    node.destination.buffer = program.add(ProgramBuffer{destination});
    node.bytes = bytes;
    node.queue = program.add(Queue{hop, source});
    program.add(node);
  }
  return program;
}

// Three copies share the port of gpu0, which carries hardly more than one of them.
TEST(LeastTime, IsThatOfThePortThatAllLeaveBy) {
  const Machine machine = load_machine("h200x4");
  const HopId hop = *machine.find_hop(machine.find_place("gpu0"), machine.find_place("gpu1"));
  const Seconds alone = 1_GiB / machine.hop(hop).bandwidth;

  const Seconds one = least_time(machine, copies_to(machine, {"gpu1"}, 1_GiB));
  const Seconds three = least_time(machine, copies_to(machine, {"gpu1", "gpu2", "gpu3"}, 1_GiB));

  EXPECT_LE(one, alone);
  EXPECT_GT(one / alone, 0.8);
  EXPECT_NEAR(three / one, 3, 0.01);
}

TEST(LeastTime, GrowsWithWhatIsMoved) {
  const Machine machine = load_machine("h200x4");
  const Program program = copies_to(machine, {"gpu1", "gpu2"}, 16_MiB);

  EXPECT_NEAR(least_time(machine, program, 64) / least_time(machine, program), 64, 1e-6);
  EXPECT_NEAR(least_time_by_any_way(machine, program, 64) / least_time_by_any_way(machine, program),
              64, 1e-6);
}

// Of direct links each carries a part, whichever way the program's own copies go.
TEST(LeastTime, ByAnyWayCountsAllLinks) {
  const Machine machine = load_machine("beluga");
  const Program program = copies_to(machine, {"gpu1"}, 1_GiB);

  const double factor = least_time(machine, program) / least_time_by_any_way(machine, program);

  EXPECT_GT(factor, 3);
  EXPECT_LT(factor, 4);
}

}  // namespace
}  // namespace polypath::test::program_bound_test
