// What joint plans gain on the machines that come along: predicted, against all transfers as native
// copies at once, and against the flow bound. tests/engine/joint.test.cc runs them.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/text.h"
#include "plan/joint/patterns.h"
#include "plan/joint_planning.h"
#include "support/effort.h"

namespace polypath::test::joint_figures_test {
namespace {

// Plans the set; expects at least `least`, no end later than natively, and nothing beyond the
// bound.
void expect_gain(const std::string& machine, const std::vector<JointTransfer>& set, Issuers issuers,
                 double least) {
  JointRig rig(machine);

  const auto joint = rig.plan(set, issuers);

  EXPECT_GE(gain(*joint), least) << machine;
  EXPECT_LE(regret(*joint), kAsGoodAsNatively) << machine;
  EXPECT_GE(joint->predicted, joint->flow_bound) << machine;
}

std::vector<JointTransfer> pattern(const std::string& machine, const std::string& name, Bytes bytes,
                                   std::size_t gpus = 0) {
  return pattern_of(load_machine(machine), name, bytes, gpus);
}

TEST(JointFigures, ARingOfFour) {
  expect_gain("beluga", pattern("beluga", "ring", 256_MiB), Issuers::one_thread, 1.8);
  expect_gain("beluga", pattern("beluga", "ring", 256_MiB), Issuers::processes, 1.95);
  if (!is_long()) return;
  expect_gain("narval", pattern("narval", "ring", 256_MiB), Issuers::one_thread, 1.7);
}

TEST(JointFigures, TwoPairs) {
  const std::vector<JointTransfer> one_way{between(0, 1, 256_MiB), between(2, 3, 256_MiB)};

  expect_gain("beluga", one_way, Issuers::one_thread, 2.05);
  expect_gain("beluga", one_way, Issuers::processes, 2.15);
  expect_gain("beluga", pattern("beluga", "pairs", 256_MiB), Issuers::one_thread, 1.82);
  expect_gain("beluga", pattern("beluga", "pairs", 256_MiB), Issuers::processes, 1.95);
}

TEST(JointFigures, OneToTwoAndTwoToOne) {
  const std::vector<JointTransfer> fan_out{between(0, 1, 256_MiB), between(0, 2, 256_MiB)};
  const std::vector<JointTransfer> gather{between(1, 0, 256_MiB), between(2, 0, 256_MiB)};
  for (const std::string machine : {"beluga", "narval"}) {
    expect_gain(machine, fan_out, Issuers::one_thread, 1.43);
    expect_gain(machine, gather, Issuers::one_thread, 1.41);
  }
}

TEST(JointFigures, SmallRingsOfOneThreadNeverLose) {
  for (const std::string machine : {"beluga", "narval", "h200x4"})
    for (const Bytes bytes : {2_MiB, 4_MiB, 16_MiB})
      expect_gain(machine, pattern(machine, "ring", bytes, 4), Issuers::one_thread, 1.0);
}

TEST(JointFigures, TwoGpusFromTheHostAtOnce) {
  for (const Bytes bytes : {16_MiB, 64_MiB})
    expect_gain("h200x4", pattern("h200x4", "scatter", bytes, 2), Issuers::one_thread, 1.0);
  expect_gain("h200x4", pattern("h200x4", "scatter", 64_MiB, 2), Issuers::processes, 1.25);
}

// The other way has a quarter, or an eighth: it must not cost what the longer one can gain.
TEST(JointFigures, AsymmetricExchanges) {
  for (const Bytes other : {128_MiB, 64_MiB, 32_MiB})
    expect_gain("beluga", {between(0, 1, 256_MiB), between(1, 0, other)}, Issuers::one_thread,
                2.85);
}

// The host paths of both ways take turns at each GPU's engines and meet in both hosts. Where both
// begin with the same host they share it while the other one idles.
TEST(JointFigures, BothWaysOverTheSameHosts) {
  const auto both_ways = [](Bytes bytes) {
    return std::vector<JointTransfer>{between(0, 1, bytes), between(1, 0, bytes)};
  };

  expect_gain("mist", both_ways(32_MiB), Issuers::processes, 1.45);
  expect_gain("mist", both_ways(128_MiB), Issuers::processes, 1.6);
  expect_gain("mist", both_ways(256_MiB), Issuers::processes, 1.62);
}

}  // namespace
}  // namespace polypath::test::joint_figures_test
