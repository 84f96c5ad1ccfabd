// Both directions at once: the two halves of each host path meet in the host's memory and PCIe
// links, and the planner must know.

#include <gtest/gtest.h>

#include "bench/figures.h"

namespace polypath::bench::both_ways_test {
namespace {

const std::vector<std::string> kAllPaths = {"direct", "gpu2", "gpu3", "host"};
const std::vector<std::string> kGpuPaths = {"direct", "gpu2", "gpu3"};

class BothWays : public testing::TestWithParam<int> {
 protected:
  static Result both_ways(const std::vector<std::string>& paths, Bytes bytes) {
    return best_of({"beluga", "bibw", "gpu0", "gpu1", paths, std::nullopt, GetParam()}, {bytes});
  }
};

// Up to 64 MiB it may still gain a little: latencies and calls leave both directions room.
TEST_P(BothWays, ForcingTheHostPathCosts) {
  for (const Bytes bytes : powers_of_two(128_MiB, 512_MiB)) {
    const Result with_host = both_ways(kAllPaths, bytes);
    const Result without = both_ways(kGpuPaths, bytes);

    EXPECT_GT(with_host.seconds, without.seconds) << describe_bytes(bytes);
  }
}

// A graph must beat streams by least_gain_two_threads for certain; what is less is left lying.
TEST_P(BothWays, TheAutomaticPlanIsNotWorseThanWithoutTheHostPath) {
  const Seconds left_lying = DriverBehaviour{}.least_gain_two_threads * GetParam();
  for (const Bytes bytes : powers_of_two(4_MiB, 512_MiB)) {
    const Result automatic = both_ways({}, bytes);
    const Result without = both_ways(kGpuPaths, bytes);

    EXPECT_LE(automatic.seconds, without.seconds * 1.001 + left_lying) << describe_bytes(bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Windows, BothWays, testing::Values(1, 4, 16),
                         [](const auto& info) { return "Window" + std::to_string(info.param); });

}  // namespace
}  // namespace polypath::bench::both_ways_test
