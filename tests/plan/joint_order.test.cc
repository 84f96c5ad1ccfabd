// The planner chooses the order in which one thread issues a set, where that is left to it.

#include <gmock/gmock.h>

#include <algorithm>

#include "plan/joint/found_plans.h"
#include "plan/joint_planning.h"
#include "support/effort.h"
#include "support/random.h"
#include "support/sanitizers.h"

namespace polypath::test::joint_order_test {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAreArray;

const JointOptions kFreeOrder{.free_order = true};

// gpu0 sends much to gpu1 and then little to gpu2. A copy of 1 MiB ends within a few dozen
// microseconds, which the calls of the other one take alone.
std::vector<JointTransfer> much_then_little() {
  return {between(0, 1, 512_MiB), between(2, 3, 1_MiB)};
}

TEST(OrderOfIssue, IsTheOneAskedForUnlessItIsFree) {
  JointRig rig("beluga");

  const auto joint = rig.joint.plan(much_then_little());

  EXPECT_THAT(joint->order, ElementsAre(0U, 1U));
}

TEST(OrderOfIssue, PutsTheShortTransferBeforeTheManyCallsOfTheLongOne) {
  JointRig rig("beluga");
  const auto asked = rig.joint.plan(much_then_little());

  const auto joint = rig.joint.plan(much_then_little(), kFreeOrder);

  EXPECT_THAT(joint->order, ElementsAre(1U, 0U));
  EXPECT_GT(asked->predicted / joint->predicted, 1.5);
  EXPECT_EQ(asked->native_predicted, joint->native_predicted);
  EXPECT_EQ(joint->plans[0]->bytes, 512_MiB);
  EXPECT_LE(regret(*joint), kAsGoodAsNatively);
}

TEST(OrderOfIssue, IsTheOneAskedForWhereItIsShortestFirst) {
  JointRig rig("beluga");
  std::vector<JointTransfer> little_then_much = much_then_little();
  std::reverse(little_then_much.begin(), little_then_much.end());

  const auto joint = rig.joint.plan(little_then_much, kFreeOrder);

  EXPECT_THAT(joint->order, ElementsAre(0U, 1U));
}

TEST(OrderOfIssue, IsTheOneAskedForWhereSeveralIssueOrTheSetQueues) {
  JointRig rig("beluga");
  for (const JointOptions& options : {JointOptions{.issuers = Issuers::threads, .free_order = true},
                                      JointOptions{.queues = true, .free_order = true}}) {
    const auto joint = rig.joint.plan(much_then_little(), options);

    EXPECT_THAT(joint->order, ElementsAre(0U, 1U));
  }
}

std::vector<JointTransfer> random_set(const Machine& machine, Random& random) {
  std::vector<JointTransfer> set;
  for (int left = random.integer(2, 6); left > 0; --left) {
    const Hop& hop = random.pick(machine.hops);
    set.push_back({hop.source, hop.destination,
                   Bytes{random.between(1 << 20, 1 << 21) << random.integer(0, 8)}});
  }
  return set;
}

void expect_whole(const JointPlan& joint, const std::vector<JointTransfer>& set) {
  ASSERT_EQ(joint.plans.size(), set.size());
  EXPECT_THAT(joint.order, UnorderedElementsAreArray(order_asked_for(set.size())));
  for (std::size_t k = 0; k < set.size(); ++k) {
    EXPECT_EQ(joint.plans[k]->source, set[k].source);
    EXPECT_EQ(joint.plans[k]->destination, set[k].destination);
    Bytes carried{};
    for (const PathShape& part : joint.plans[k]->shape.paths) carried += part.bytes();
    EXPECT_EQ(carried, set[k].bytes);
  }
}

TEST(OrderOfIssueProperty, IsNeverWorseThanTheOneAskedForAndHarmsNoTransfer) {
  int reordered = 0;
  for (int seed = 0; seed < (kSanitized ? 5 : short_or_long(25, 200)); ++seed) {
    SCOPED_TRACE(seed);
    JointRig rig("synthetic:" + std::to_string(seed));
    Random random(static_cast<std::uint64_t>(seed));
    const std::vector<JointTransfer> set = random_set(rig.machine, random);
    const auto asked = rig.joint.plan(set);

    const auto joint = rig.joint.plan(set, kFreeOrder);

    expect_whole(*joint, set);
    EXPECT_LE(joint->predicted, asked->predicted);
    EXPECT_LE(regret(*joint), kAsGoodAsNatively);
    EXPECT_GE(joint->predicted, joint->flow_bound);
    for (std::size_t k = 0; k < set.size(); ++k)
      EXPECT_EQ(joint->plans[k]->native_predicted, asked->plans[k]->native_predicted);
    reordered += joint->order == order_asked_for(set.size()) ? 0 : 1;
  }
  EXPECT_GT(reordered, 0);
}

// --- results that are kept ---

FoundPlans found_in_free_order() {
  JointRig rig("beluga");
  (void)rig.joint.plan(much_then_little(), kFreeOrder);
  FoundPlans found;
  rig.planner.add_found(found);
  rig.joint.add_found(found);
  return found;
}

TEST(OrderOfIssue, IsKeptWithWhatWasFound) {
  const FoundPlans found = found_in_free_order();
  JointRig finder("beluga"), other("beluga");
  const auto made = finder.joint.plan(much_then_little(), kFreeOrder);
  other.planner.recall(found);
  other.joint.recall(found);

  const auto again = other.joint.plan(much_then_little(), kFreeOrder);

  EXPECT_EQ(other.joint.searches(), 0U);
  EXPECT_EQ(again->order, made->order);
  EXPECT_EQ(again->predicted, made->predicted);
  for (std::size_t k = 0; k < made->plans.size(); ++k)
    EXPECT_EQ(again->plans[k]->predicted, made->plans[k]->predicted);
}

TEST(OrderOfIssue, IsSearchedForAgainIfItCannotBe) {
  for (const IssueOrder& wrong : {IssueOrder{0}, IssueOrder{1, 1}, IssueOrder{1, 2}}) {
    FoundPlans found = found_in_free_order();
    for (FoundSet& set : found.sets) set.order = wrong;
    JointRig rig("beluga");
    rig.joint.recall(found);

    const auto joint = rig.joint.plan(much_then_little(), kFreeOrder);

    EXPECT_EQ(rig.joint.searches(), 1U);
    EXPECT_THAT(joint->order, ElementsAre(1U, 0U));
  }
}

}  // namespace
}  // namespace polypath::test::joint_order_test
