// Joint plans: by hand on GPUs that are joined by links of 1 GB/s each, and what every one keeps.

#include "plan/joint/joint.h"

#include <gtest/gtest.h>

#include "model/close.h"
#include "model/coverage.h"
#include "model/mesh.h"
#include "plan/joint_planning.h"
#include "support/errors.h"

namespace polypath::test::joint_test {
namespace {

using Set = std::vector<JointTransfer>;

// --- by hand: see the flow bounds in tests/model/joint_shares.test.cc ---

// Three links out, one of them to a GPU that wants nothing: each message gives it a third.
TEST(JointPlan, AFanOutSharesTheLinksOut) {
  JointRig rig(mesh_machine(4));

  const auto joint = rig.plan({between(0, 1, 64_MiB), between(0, 2, 64_MiB)}, Issuers::processes);

  EXPECT_TRUE(close(gain(*joint), 1.5, 0.02));
  for (const PlanPointer& plan : joint->plans) EXPECT_NEAR(share(*plan, "gpu3"), 1.0 / 3, 0.02);
}

// d = 1/2: half of each message goes directly, half over the two others.
TEST(JointPlan, ARingGivesHalfToRelays) {
  JointRig rig(mesh_machine(4));
  const Set ring{between(0, 1, 64_MiB), between(1, 2, 64_MiB), between(2, 3, 64_MiB),
                 between(3, 0, 64_MiB)};

  const auto joint = rig.plan(ring, Issuers::processes);

  EXPECT_TRUE(close(gain(*joint), 2.0, 0.03));
  for (const PlanPointer& plan : joint->plans) EXPECT_NEAR(share(*plan, "direct"), 0.5, 0.03);
}

// Every link is busy, and a relay takes two of them.
TEST(JointPlan, AnAllToAllStaysNative) {
  JointRig rig(mesh_machine(3));
  Set all;
  for (const auto& [from, to] : {std::pair{0, 1}, {1, 2}, {2, 0}, {0, 2}, {1, 0}, {2, 1}})
    all.push_back(between(from, to, 64_MiB));

  const auto joint = rig.plan(all, Issuers::processes);

  EXPECT_EQ(gain(*joint), 1);
  for (const PlanPointer& plan : joint->plans) EXPECT_EQ(plan->executor(), Executor::native);
}

// Both directions of an exchange go through gpu2, whose memory takes 1 GB/s in all, two per relayed
// byte. One way has n bytes, the other n/4. With x and y relayed: 1 − x <= T, 1/4 − y <= T,
// 2x + 2y <= T. So y = 0, x = 1/3, T = 2/3. If each planned with its own mirror image, x = y:
// 4x <= T, x = 1/5, T = 4/5.
Machine narrow_relay() {
  Machine machine = mesh_machine(3);
  const ResourceId memory{static_cast<std::int32_t>(machine.resources.size())};
  machine.resources.push_back({"gpu2.memory", "memory", 1_GBps});
  for (Hop& hop : machine.hops)
    if (hop.source == PlaceId{2} || hop.destination == PlaceId{2}) hop.uses.push_back({memory});
  return machine;
}

TEST(JointPlan, AnAsymmetricExchangeGivesTheRelayToTheLongerWay) {
  JointRig rig(narrow_relay());

  const auto joint = rig.plan({between(0, 1, 64_MiB), between(1, 0, 16_MiB)}, Issuers::processes);

  EXPECT_TRUE(close(gain(*joint), 1.5, 0.02));
  EXPECT_NEAR(share(*joint->plans[0], "gpu2"), 1.0 / 3, 0.02);
  EXPECT_EQ(joint->plans[1]->executor(), Executor::native);
}

// The relay of the long message would be the short one's link: 8 MiB alone take 8.4 ms on it, and
// are not to take longer.
TEST(JointPlan, ShortTransfersAreNotDraggedOut) {
  JointRig rig(mesh_machine(3));

  const auto joint = rig.plan({between(0, 1, 256_MiB), between(0, 2, 8_MiB)}, Issuers::processes);

  EXPECT_LE(regret(*joint), kAsGoodAsNatively);
  EXPECT_LT(joint->plans[1]->predicted, joint->predicted * 0.1);
}

// --- what every joint plan keeps ---

TEST(JointPlan, EachTransferCarriesItsMessageOnce) {
  JointRig rig("beluga");
  const Set set{between(0, 1, 256_MiB + 1_B), between(1, 0, 33_MiB - 511_B),
                between(2, 3, 1_MiB + 7_B)};

  const auto joint = rig.plan(set, Issuers::one_thread);

  ASSERT_EQ(joint->plans.size(), set.size());
  for (std::size_t k = 0; k < set.size(); ++k) {
    const Plan& plan = *joint->plans[k];
    EXPECT_EQ(plan.bytes, set[k].bytes);
    EXPECT_EQ(plan.source, set[k].source);
    EXPECT_EQ(plan.destination, set[k].destination);
    EXPECT_TRUE(covers_once(plan.program, plan.bytes));
    EXPECT_EQ(plan.structure, structure_of(plan.program));
    EXPECT_LE(plan.predicted, joint->predicted);
  }
}

TEST(JointPlan, EveryPathHasAReason) {
  JointRig rig("beluga");

  const auto joint = rig.plan({between(0, 1, 64_MiB), between(0, 2, 64_MiB)}, Issuers::processes);

  for (const PlanPointer& plan : joint->plans) {
    EXPECT_EQ(plan->decisions.size(),
              find_paths(rig.machine, plan->source, plan->destination).size());
    for (const PathDecision& decision : plan->decisions) EXPECT_FALSE(decision.reason.empty());
  }
  // gpu0 -> gpu1 is the other transfer's link.
  const auto& decisions = joint->plans[1]->decisions;
  const auto out = std::find_if(decisions.begin(), decisions.end(),
                                [](const PathDecision& each) { return each.name == "gpu1"; });
  EXPECT_NE(out->reason.find("gpu0-gpu1.link"), std::string::npos) << out->reason;
  EXPECT_NE(out->reason.find("with it all transfers are over"), std::string::npos) << out->reason;
}

TEST(JointPlan, SmallMessagesStayNativeAndSayWhy) {
  JointRig rig("beluga");

  const auto joint = rig.plan({between(0, 1, 256_MiB), between(2, 3, 1_MiB)}, Issuers::processes);

  EXPECT_NE(joint->plans[0]->executor(), Executor::native);
  EXPECT_EQ(joint->plans[1]->executor(), Executor::native);
}

TEST(JointPlan, TheExecutorIsTheOneAskedFor) {
  JointRig rig("beluga");
  const Set set{between(0, 1, 64_MiB), between(2, 3, 64_MiB)};
  const auto executor = [&](std::optional<Executor> choice) {
    return rig.plan(set, Issuers::processes, choice)->plans[0]->executor();
  };

  EXPECT_EQ(executor(Executor::native), Executor::native);
  EXPECT_EQ(executor(Executor::stream), Executor::stream);
  EXPECT_EQ(executor(Executor::graph), Executor::graph);
}

TEST(JointPlan, TheSameRequestGivesTheSameObject) {
  JointRig rig("beluga");
  const Set set{between(0, 1, 64_MiB), between(1, 0, 64_MiB)};

  EXPECT_EQ(rig.plan(set, Issuers::processes), rig.plan(set, Issuers::processes));
  EXPECT_NE(rig.plan(set, Issuers::processes), rig.plan(set, Issuers::one_thread));
}

TEST(JointPlan, LeftOutRelaysStayOut) {
  JointRig rig("beluga");
  JointOptions options{.issuers = Issuers::processes};
  for (const PlaceId place : {PlaceId{2}, PlaceId{3}})
    options.left_out.add(place, LeftOutBecause::preparation_failed);

  const auto joint = rig.joint.plan({between(0, 1, 64_MiB), between(1, 0, 64_MiB)}, options);

  for (const PlanPointer& plan : joint->plans)
    for (const std::string& name : {std::string("gpu2"), std::string("gpu3")})
      EXPECT_EQ(share(*plan, name), 0);
}

// With host0 the large one would be over earlier, but the small one later than natively.
TEST(JointPlan, APathThatHarmsAnotherTransferIsNotSaidToGainTooLittle) {
  Settings settings;
  settings.staging_slot = 8_MiB;
  JointRig rig(load_machine("beluga"), settings);

  const auto joint = rig.plan({between(0, 1, 64_MiB), between(1, 0, 4_MiB)}, Issuers::one_thread);

  const auto& decisions = joint->plans.front()->decisions;
  const auto host = std::find_if(decisions.begin(), decisions.end(),
                                 [](const PathDecision& each) { return each.name == "host0"; });
  ASSERT_NE(host, decisions.end());
  ASSERT_FALSE(host->included);
  ASSERT_LT(host->predicted, joint->predicted);
  EXPECT_THAT(host->reason, testing::StartsWith("some transfer of the set would end later"));
}

TEST(JointPlan, MoreTransfersThanCanBePlayedStayNative) {
  JointRig rig("beluga");
  const Set set(kMostJointTransfers + 1, between(0, 1, 64_MiB));

  const auto joint = rig.plan(set, Issuers::processes);

  EXPECT_EQ(gain(*joint), 1);
  EXPECT_EQ(joint->plans.front()->decisions.back().reason,
            "sets of more than 16 transfers are native copies");
}

TEST(JointPlan, BadRequestsAreRefused) {
  JointRig rig("beluga");

  expect_invalid_argument([&] { (void)rig.plan({}, Issuers::processes); }, "no transfers");
  expect_invalid_argument([&] { (void)rig.plan({between(0, 1, 0_B)}, Issuers::processes); },
                          "size is 0");
  expect_invalid_argument([&] { (void)rig.plan({between(1, 1, 1_MiB)}, Issuers::processes); },
                          "both gpu1");
}

}  // namespace
}  // namespace polypath::test::joint_test
