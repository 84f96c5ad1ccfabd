#include "plan/joint/patterns.h"

#include <gmock/gmock.h>

#include "machine/load_machine.h"
#include "model/mesh.h"
#include "support/errors.h"

namespace polypath::test::patterns_test {
namespace {

using testing::ElementsAre;
using testing::Pair;

// The places of each transfer, by number.
std::vector<std::pair<int, int>> pairs_of(const std::string& name, std::size_t gpus = 0) {
  std::vector<std::pair<int, int>> pairs;
  for (const JointTransfer& transfer : pattern_of(mesh_machine(4), name, 1_MiB, gpus)) {
    EXPECT_EQ(transfer.bytes, 1_MiB);
    pairs.emplace_back(transfer.source.value, transfer.destination.value);
  }
  return pairs;
}

TEST(Patterns, AreThoseOfTheirNames) {
  EXPECT_THAT(pairs_of("ring"), ElementsAre(Pair(0, 1), Pair(1, 2), Pair(2, 3), Pair(3, 0)));
  EXPECT_THAT(pairs_of("pairs"), ElementsAre(Pair(0, 1), Pair(1, 0), Pair(2, 3), Pair(3, 2)));
  EXPECT_THAT(pairs_of("fan-out"), ElementsAre(Pair(0, 1), Pair(0, 2), Pair(0, 3)));
  EXPECT_THAT(pairs_of("gather"), ElementsAre(Pair(1, 0), Pair(2, 0), Pair(3, 0)));
}

TEST(Patterns, AnAllToAllGoesRoundByRound) {
  EXPECT_THAT(pairs_of("alltoall", 3),
              ElementsAre(Pair(0, 1), Pair(1, 2), Pair(2, 0), Pair(0, 2), Pair(1, 0), Pair(2, 1)));
}

TEST(Patterns, MayTakeFewerGpus) {
  EXPECT_THAT(pairs_of("ring", 2), ElementsAre(Pair(0, 1), Pair(1, 0)));
  EXPECT_THAT(pairs_of("pairs", 3), ElementsAre(Pair(0, 1), Pair(1, 0)));
}

TEST(Patterns, HostsAreTheNearest) {
  const Machine machine = load_machine("h200x8");

  for (const JointTransfer& transfer : pattern_of(machine, "scatter", 1_MiB))
    EXPECT_EQ(transfer.source, machine.nearest_host(transfer.destination));
  for (const JointTransfer& transfer : pattern_of(machine, "collect", 1_MiB))
    EXPECT_EQ(transfer.destination, machine.nearest_host(transfer.source));
}

TEST(Patterns, UnknownOrImpossibleOnesAreRefused) {
  const auto refuse = [](const std::string& name, int gpus, std::size_t wanted,
                         const std::string& part) {
    expect_invalid_argument([&] { (void)pattern_of(mesh_machine(gpus), name, 1_MiB, wanted); },
                            part);
  };

  refuse("star", 4, 0, "unknown pattern 'star' (there are ring, pairs, fan-out");
  refuse("ring", 4, 5, "pattern 'ring' cannot have 5 GPUs (machine 'mesh' has 4)");
  refuse("ring", 1, 0, "it needs 2 GPUs, and there are 1");
  refuse("scatter", 4, 0, "the pattern needs a host (machine 'mesh' has none)");
}

}  // namespace
}  // namespace polypath::test::patterns_test
