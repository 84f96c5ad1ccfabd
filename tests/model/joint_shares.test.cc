// Shares of several transfers at once. 1 GB/s: 1 us per kB; messages of a megabyte: 1 ms at that
// rate.

#include "model/joint_shares.h"

#include <gtest/gtest.h>

#include <numeric>

#include "model/close.h"
#include "model/mesh.h"
#include "support/random.h"

namespace polypath::test::joint_shares_test {
namespace {

constexpr Bytes kMegabyte{1000000};
constexpr ResourceId kPort{0};
constexpr ResourceId kOther{1};
const std::vector<Capacity> kOneEach{1_GBps, 1_GBps};

SharedPath path(BytesPerSecond rate, Seconds offset, std::vector<Use> claims = {}) {
  return {{1 / rate.value, offset}, std::move(claims)};
}

JointPaths transfer(std::vector<SharedPath> paths, Bytes bytes = kMegabyte) {
  return {.paths = std::move(paths), .bytes = bytes, .smallest = 1_B};
}

// --- by hand ---

// Two messages through one port of 1 GB/s: 2 ms, whatever their paths could do.
TEST(JointShares, TransfersShareWhatBothUse) {
  const std::vector<JointPaths> transfers{transfer({path(1_GBps, {}, {{kPort}})}),
                                          transfer({path(1_GBps, {}, {{kPort}})})};

  const JointShares joint = solve_joint_shares(transfers, kOneEach);

  EXPECT_TRUE(close(joint.time, 2000_us));
  EXPECT_TRUE(close(joint.shares[0][0], 1));
}

// The relay has 1 GB/s for both. The first one has a megabyte to bring over a link of its own, the
// second one a quarter: 1 − x = T, x + y = T, 1/4 − y <= T. So y = 0, x = T = 1/2.
TEST(JointShares, TheRelayGoesToWhoNeedsIt) {
  const std::vector<JointPaths> transfers{
      transfer({path(1_GBps, {}), path(1_GBps, {}, {{kPort}})}),
      transfer({path(1_GBps, {}), path(1_GBps, {}, {{kPort}})}, 250000_B)};

  const JointShares joint = solve_joint_shares(transfers, kOneEach);

  EXPECT_TRUE(close(joint.time, 500_us, 2e-3));
  EXPECT_TRUE(close(joint.shares[0][1], 0.5, 2e-3));
  EXPECT_EQ(joint.shares[1][1], 0);
}

// Both relays are as fast; the second one takes two of what it uses per byte. Nothing is lost by
// leaving it out.
TEST(JointShares, OfEqualOptimaTheOneThatUsesLeastIsTaken) {
  const std::vector<Capacity> plenty{10_GBps, 10_GBps};
  const std::vector<JointPaths> transfers{
      transfer({path(1_GBps, {}, {{kPort}}), path(1_GBps, {}, {{kOther, 2}}),
                path(1_GBps, {}, {{kOther}})})};
  std::vector<JointPaths> narrow = transfers;
  narrow[0].paths[0].time.slope = 0.5e-9;

  const JointShares wide = solve_joint_shares(transfers, plenty);
  const JointShares enough = solve_joint_shares(narrow, std::vector<Capacity>{10_GBps, 0.5_GBps});

  EXPECT_TRUE(close(wide.time, 1000_us * (1.0 / 3), 2e-3));
  EXPECT_EQ(enough.shares[0][1], 0);
  EXPECT_GT(enough.shares[0][2], 0);
}

// Alone on one port, a short message would be over after 0.1 ms, a long one after 1 ms; natively
// together after 0.2 and 1.1 ms. With λ = 2/11 and 1: 0.1 ms <= 2/11·T and 1.1 ms <= T.
TEST(JointShares, DeadlinesOrderWhatMustBeOverFirst) {
  std::vector<JointPaths> transfers{transfer({path(1_GBps, {}, {{kPort}})}, 100000_B),
                                    transfer({path(1_GBps, {}, {{kPort}})})};
  transfers[0].deadline = 2.0 / 11;

  EXPECT_TRUE(close(solve_joint_shares(transfers, kOneEach).time, 1100_us));

  transfers[0].deadline = 1.0 / 22;  // 0.1 ms <= T/22
  EXPECT_TRUE(close(solve_joint_shares(transfers, kOneEach).time, 2200_us));
}

// A path that starts after everything is over carries nothing and holds up no other.
TEST(JointShares, LatePathsStayIdle) {
  const std::vector<JointPaths> transfers{transfer({path(1_GBps, {}), path(1_GBps, 5000_us)}),
                                          transfer({path(1_GBps, {}), path(1_GBps, {})})};

  const JointShares joint = solve_joint_shares(transfers, kOneEach);

  EXPECT_EQ(joint.shares[0][1], 0);
  EXPECT_TRUE(close(joint.time, 1000_us));
}

TEST(JointShares, OfOneTransferAreThoseOfItsOwnProgram) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<SharedPath> paths;
    for (int p = random.integer(1, 5); p > 0; --p) {
      std::vector<Use> claims;
      if (random.chance(50)) claims.push_back({kPort, 1.0 + random.integer(0, 1)});
      paths.push_back(path({1e8 * random.integer(1, 30)}, 1_us * random.integer(0, 99), claims));
    }

    const JointShares joint = solve_joint_shares(std::vector{transfer(paths)}, kOneEach);
    const ShareSolution single = solve_shares(paths, kOneEach, kMegabyte, 1_B);

    // Which paths are left out first may make that much of a difference.
    EXPECT_TRUE(close(joint.time, single.time, 0.03));
    EXPECT_TRUE(close(std::accumulate(joint.shares[0].begin(), joint.shares[0].end(), 0.0), 1));
  }
}

// --- the flow bound, on GPUs that are joined by links of 1 GB/s each ---

Seconds bound(const Machine& mesh, const std::vector<std::pair<int, int>>& pairs) {
  std::vector<FlowDemand> demands;
  for (const auto& [source, destination] : pairs)
    demands.push_back({mesh_paths(mesh, {source}, {destination}), kMegabyte});
  return flow_bound(mesh, ResourceModel(mesh), demands);
}

// Three links lead out of gpu0, and one message: a third over each.
TEST(FlowBound, OneTransferUsesAllLinksOut) {
  EXPECT_TRUE(close(bound(mesh_machine(4), {{0, 1}}), 1000_us * (1.0 / 3)));
}

// Three links, two messages.
TEST(FlowBound, AFanOutSharesThem) {
  EXPECT_TRUE(close(bound(mesh_machine(4), {{0, 1}, {0, 2}}), 2000_us * (1.0 / 3)));
}

// 12 links. Of each message d goes directly, over one link, and 1 − d over two: 4(d + 2(1 − d)) <=
// 12·T and d <= T, so T = d = 1/2.
TEST(FlowBound, ARingGoesTwiceAsFast) {
  EXPECT_TRUE(close(bound(mesh_machine(4), {{0, 1}, {1, 2}, {2, 3}, {3, 0}}), 500_us));
}

// The relays of the two share the links 2 -> 1 and 0 -> 3: at most 2·T over relays, T over each
// direct link, and two messages: T = 1/2.
TEST(FlowBound, TwoPairsGoTwiceAsFast) {
  EXPECT_TRUE(close(bound(mesh_machine(4), {{0, 1}, {2, 3}}), 500_us));
}

// Without a relay, nothing.
TEST(FlowBound, TwoGpusHaveOneLink) {
  EXPECT_TRUE(close(bound(mesh_machine(2), {{0, 1}, {1, 0}}), 1000_us));
}

}  // namespace
}  // namespace polypath::test::joint_shares_test
