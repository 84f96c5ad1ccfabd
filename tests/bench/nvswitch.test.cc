// What four H200 behind NVSwitch did when they were measured: paths through other GPUs cost, the
// host path and the other GPUs' PCIe links gain.

#include <gtest/gtest.h>

#include "bench/figures.h"

namespace polypath::bench::nvswitch_test {
namespace {

TEST(NvSwitch, AutomaticPutLeavesGpusOutAndGainsFromTheHost) {
  const Result put = best_of({"h200x4"}, {1_GiB});

  ASSERT_NE(put.plan, nullptr);
  for (const PathDecision& decision : put.plan->decisions)
    if (decision.included) EXPECT_TRUE(decision.name == "direct" || decision.name == "host0");
  EXPECT_GE(speedup_of(put), 1.08);
  EXPECT_LE(speedup_of(put), 1.14);
}

TEST(NvSwitch, PathsThroughGpusLoseWhenForced) {
  for (const Bytes bytes : {512_MiB, 1_GiB}) {
    const Question question{"h200x4", "put", "gpu0", "gpu1", {"direct", "gpu2", "gpu3"}};

    const Result put = best_of(question, {bytes});

    EXPECT_GE(speedup_of(put), 0.82) << describe_bytes(bytes);
    EXPECT_LE(speedup_of(put), 0.96) << describe_bytes(bytes);
  }
}

TEST(NvSwitch, HostToGpuGainsFromOtherPcieLinks) {
  EXPECT_GE(speedup_of(best_of({"h200x4", "h2d", "host", "gpu0"}, {64_MiB})), 2.6);
}

TEST(NvSwitch, GpuToHostGainsFromOtherPcieLinks) {
  EXPECT_GE(speedup_of(best_of({"h200x4", "d2h", "gpu0", "host"}, {64_MiB})), 2.0);
}

}  // namespace
}  // namespace polypath::bench::nvswitch_test
