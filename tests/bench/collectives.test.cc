#include "bench/collectives.h"

#include <gmock/gmock.h>

#include "machine/load_machine.h"
#include "support/errors.h"

namespace polypath::bench::collectives_test {
namespace {

using test::expect_invalid_argument;

CollectiveBench bench_of(Collective collective, std::vector<std::string> algorithms) {
  CollectiveBench bench;
  bench.machine = "cedar";
  bench.request.collective = collective;
  bench.sizes = {1000_B, 256_KiB};
  bench.algorithms = std::move(algorithms);
  return bench;
}

std::vector<CollectiveResult> measure(const CollectiveBench& bench) {
  return measure_collectives(open_machine(bench.machine, bench.settings), bench, {});
}

TEST(CollectiveBench, VerifiesEveryCollective) {
  for (const Collective collective : all_collectives()) {
    const auto results = measure(bench_of(collective, {kAutomatic}));

    ASSERT_EQ(results.size(), 2U);
    for (const CollectiveResult& result : results) {
      EXPECT_TRUE(result.verified) << name_of(collective);
      EXPECT_NEAR(result.draft.predicted / result.seconds, 1, 0.05) << name_of(collective);
    }
  }
}

TEST(CollectiveBench, MeasuresSizeAfterSizeByEachAlgorithm) {
  const auto results = measure(bench_of(Collective::all_reduce, {"ring", kAutomatic}));

  ASSERT_EQ(results.size(), 4U);
  EXPECT_EQ(results[0].algorithm, "ring");
  EXPECT_STREQ(results[0].draft.algorithm->name, "ring");
  EXPECT_EQ(results[1].algorithm, kAutomatic);
  EXPECT_EQ(message_bytes(results[1].request), 1000_B);
  EXPECT_EQ(message_bytes(results[2].request), 256_KiB);
}

TEST(CollectiveBench, WithoutVerificationVerifiesNothing) {
  CollectiveBench bench = bench_of(Collective::all_reduce, {"flat"});
  bench.verify = false;

  for (const CollectiveResult& result : measure(bench)) EXPECT_FALSE(result.verified);
}

// Of 8 ranks with an input, an output and a result on the host 100 KiB have room for 4266 bytes of
// each.
TEST(CollectiveBench, OfSeveralNodesVerifiesWhatThereIsRoomFor) {
  CollectiveBench bench = bench_of(Collective::all_reduce, {"nodes", kAutomatic});
  bench.machine = "mist";
  bench.nodes = 2;
  bench.memory_limit = 100_KiB;

  const auto results = measure_collectives(open_machine(choose_machine(bench), {}), bench, {});

  ASSERT_EQ(results.size(), 4U);
  for (const CollectiveResult& result : results) {
    EXPECT_EQ(result.request.size(), 8);
    EXPECT_TRUE(result.verified) << result.algorithm;
    EXPECT_LE(result.verified_bytes, 4266_B);
    EXPECT_NEAR(result.draft.predicted / result.seconds, 1, 0.05) << result.algorithm;
  }
  EXPECT_EQ(results[0].verified_bytes, 1000_B);
  EXPECT_EQ(results[2].verified_bytes, 4_KiB);
}

TEST(CollectiveBench, SaysWhichNodesCannotBeHad) {
  CollectiveBench bench = bench_of(Collective::all_reduce, {"flat"});
  bench.machine = "pcie4";
  bench.nodes = 2;

  expect_invalid_argument([&] { (void)choose_machine(bench); }, "2 nodes of pcie4", "network");
}

TEST(CollectiveBench, SaysWhatCannotBeMeasured) {
  CollectiveBench many = bench_of(Collective::all_reduce, {"flat"});
  many.ranks = 5;
  CollectiveBench none = bench_of(Collective::all_reduce, {"flat"});
  none.sizes = {0_B};

  expect_invalid_argument([&] { (void)measure(many); }, "5 ranks", "4 GPUs");
  expect_invalid_argument([&] { (void)measure(none); }, "size 0");
  expect_invalid_argument([] { (void)measure(bench_of(Collective::all_to_all, {"flat"})); },
                          "alltoall", "flat");
}

}  // namespace
}  // namespace polypath::bench::collectives_test
