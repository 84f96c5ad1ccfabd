// The gains that the papers measured, within a tenth, on machines whose files hold single-path
// figures and, for ports that links share, one of another machine (machines/*.json: source "port").

#include <gtest/gtest.h>

#include "bench/figures.h"

namespace polypath::bench::papers_test {
namespace {

const std::vector<std::string> kAllPaths = {"direct", "gpu2", "gpu3", "host"};
const std::vector<std::string> kGpuPaths = {"direct", "gpu2", "gpu3"};
const std::vector<std::string> kHostPath = {"direct", "host"};

double best_put(const std::string& machine, const std::vector<std::string>& paths,
                std::optional<Executor> executor) {
  const Question question{machine, "put", "gpu0", "gpu1", paths, executor};
  return speedup_of(best_of(question, powers_of_two(32_MiB, 512_MiB)));
}

TEST(Papers, BelugaPutsNearlyThreeTimesAsFastOverThreeGpuPathsAndTheHost) {
  EXPECT_NEAR(best_put("beluga", kAllPaths, Executor::stream), 2.85, 0.1 * 2.85);
  EXPECT_NEAR(best_put("beluga", kAllPaths, Executor::graph), 2.95, 0.1 * 2.95);
}

TEST(Papers, NarvalPutsNearlyThreeTimesAsFastOverThreeGpuPathsAndTheHost) {
  EXPECT_NEAR(best_put("narval", kAllPaths, Executor::stream), 2.75, 0.1 * 2.75);
  EXPECT_NEAR(best_put("narval", kAllPaths, Executor::graph), 2.85, 0.1 * 2.85);
}

TEST(Papers, TheHostPathAddsAtMostFifteenPerCent) {
  for (const char* machine : {"beluga", "narval"})
    for (const auto executor : {Executor::stream, Executor::graph}) {
      const double with = best_put(machine, kAllPaths, executor);
      const double without = best_put(machine, kGpuPaths, executor);

      EXPECT_LE(with, 1.15 * without) << machine;
    }
}

// Six NVLink2 links at 23.95 GB/s each carry 143.7 GB/s, the port 134: over three GPU paths at most
// 134 / 47.9 = 2.797.
TEST(Papers, ThePortOfAV100CarriesLessThanItsLinks) {
  const double gpu_paths = best_put("beluga", kGpuPaths, Executor::graph);

  EXPECT_LT(gpu_paths, 2.797);
  EXPECT_GT(gpu_paths, 2.6);
}

TEST(Papers, MistGainsTwoThirdsFromTheHostPath) {
  const Question question{"mist", "put", "gpu0", "gpu1", kHostPath};
  const double speedup = speedup_of(best_of(question, powers_of_two(32_MiB, 512_MiB)));

  EXPECT_NEAR(speedup, 1.67, 0.1 * 1.67);
}

TEST(Papers, CedarGainsAFifthFromTheHostPath) {
  const Question question{"cedar", "put", "gpu0", "gpu1", kHostPath};
  const double speedup = speedup_of(best_of(question, powers_of_two(32_MiB, 512_MiB)));

  EXPECT_NEAR(speedup, 1.18, 0.1 * 1.18);
}

}  // namespace
}  // namespace polypath::bench::papers_test
