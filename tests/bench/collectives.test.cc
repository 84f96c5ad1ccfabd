#include "bench/collectives.h"

#include <gmock/gmock.h>

#include "machine/load_machine.h"
#include "support/errors.h"

namespace polypath::bench {
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
}  // namespace polypath::bench
