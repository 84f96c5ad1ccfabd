// The gains that the papers measured, on machines whose files hold single-path figures only.

#include <gtest/gtest.h>

#include "bench/figures.h"

namespace polypath::bench {
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
  EXPECT_GE(best_put("beluga", kAllPaths, Executor::stream), 2.85);
  EXPECT_GE(best_put("beluga", kAllPaths, Executor::graph), 2.95);
}

TEST(Papers, NarvalPutsNearlyThreeTimesAsFastOverThreeGpuPathsAndTheHost) {
  EXPECT_GE(best_put("narval", kAllPaths, Executor::stream), 2.75);
  EXPECT_GE(best_put("narval", kAllPaths, Executor::graph), 2.85);
}

TEST(Papers, TheHostPathAddsAtMostFifteenPerCent) {
  for (const char* machine : {"beluga", "narval"})
    for (const auto executor : {Executor::stream, Executor::graph}) {
      const double with = best_put(machine, kAllPaths, executor);
      const double without = best_put(machine, kGpuPaths, executor);

      EXPECT_LE(with, 1.15 * without) << machine;
    }
}

TEST(Papers, MistGainsTwoThirdsFromTheHostPath) {
  const Question question{"mist", "put", "gpu0", "gpu1", kHostPath};

  EXPECT_GE(speedup_of(best_of(question, powers_of_two(32_MiB, 512_MiB))), 1.67);
}

TEST(Papers, CedarGainsAFifthFromTheHostPath) {
  const Question question{"cedar", "put", "gpu0", "gpu1", kHostPath};

  EXPECT_GE(speedup_of(best_of(question, powers_of_two(32_MiB, 512_MiB))), 1.18);
}

}  // namespace
}  // namespace polypath::bench
