// One operation between every ordered pair of places.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "bench/measure.h"
#include "core/error.h"
#include "machine/load_machine.h"

namespace polypath::bench::all_pairs_test {
namespace {

std::vector<std::string> pairs_of(const std::string& machine_name, const std::string& operation) {
  const Machine machine = load_machine(machine_name);
  std::vector<std::string> pairs;
  for (const Operation& each : operations_of_all_pairs(machine, operation))
    pairs.push_back(machine.place(each.lanes[0].source).name + " " +
                    machine.place(each.lanes[0].destination).name);
  return pairs;
}

TEST(AllPairs, PutIsBetweenAllGpusBothWays) {
  const std::vector<std::string> pairs = pairs_of("dgx-a100", "put");

  EXPECT_EQ(pairs.size(), 8U * 7U);
  EXPECT_EQ(pairs.front(), "gpu0 gpu1");
  EXPECT_EQ(pairs.back(), "gpu7 gpu6");
}

TEST(AllPairs, CopiesToTheHostAreFromEveryGpuToEveryHost) {
  EXPECT_EQ(pairs_of("cedar", "d2h"),
            (std::vector<std::string>{"gpu0 host0", "gpu0 host1", "gpu1 host0", "gpu1 host1",
                                      "gpu2 host0", "gpu2 host1", "gpu3 host0", "gpu3 host1"}));
  EXPECT_EQ(pairs_of("h200x4", "h2d"),
            (std::vector<std::string>{"host0 gpu0", "host0 gpu1", "host0 gpu2", "host0 gpu3"}));
}

TEST(AllPairs, WhatIsOverAllGpusAnywayHasNoPairs) {
  for (const char* operation : {"mbw", "ring", "many", "nothing"})
    EXPECT_THROW(pairs_of("beluga", operation), Error) << operation;
}

// Pair by pair it is what is measured between the two places by themselves.
TEST(AllPairs, EachResultIsThatOfItsPair) {
  const Machine machine = load_machine("mist");
  Request request{.machine = "mist",
                  .operation = "put",
                  .source = kAllPairs,
                  .destination = kAllPairs,
                  .sizes = {1_MiB, 64_MiB},
                  .verify = false};
  const OpenMachine opened = simulate(machine, request.settings);

  std::vector<std::pair<int, int>> steps;
  const std::vector<Result> all =
      measure_all(opened, request, [&](int done, int total) { steps.emplace_back(done, total); });

  ASSERT_EQ(all.size(), 2U * 12U);
  EXPECT_EQ(steps.back(), std::pair(24, 24));
  for (const std::size_t number : {0UL, 5UL, 12UL, 23UL}) {
    request.source = machine.place(all[number].source).name;
    request.destination = machine.place(all[number].destination).name;
    request.sizes = {all[number].bytes};
    const Result alone = measure_all(opened, request, {}).front();
    EXPECT_EQ(alone.seconds, all[number].seconds) << number;
    EXPECT_EQ(alone.native_seconds, all[number].native_seconds) << number;
  }
}

TEST(AllPairs, ASimulatedResultHasNoRepetitions) {
  const Request request{.machine = "beluga",
                        .operation = "put",
                        .source = "gpu0",
                        .destination = "gpu1",
                        .sizes = {1_MiB},
                        .verify = false};

  const Result result = measure_all(simulate(load_machine("beluga"), {}), request, {}).front();

  EXPECT_TRUE(result.repetitions.times.empty());
}

}  // namespace
}  // namespace polypath::bench::all_pairs_test
