// Shares from measured times.

#include "plan/single/rebalanced.h"

#include <gtest/gtest.h>

#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::rebalanced_test {
namespace {

class Levelled : public testing::Test {
 protected:
  Levelled() : machine_(load_machine("mist")), planner_(machine_, {}) {
    plan_ = planner_.plan(machine_.find_place("host"), machine_.find_place("gpu0"), 256_MiB);
  }

  Machine machine_;
  Planner planner_;
  PlanPointer plan_;
};

// Two paths of latencies that hardly count: b1/t1 and b2/t2 are their rates r1 and r2, so that they
// end together after n/(r1 + r2), with shares r1/(r1 + r2) and r2/(r1 + r2).
TEST_F(Levelled, PathsEndTogetherByTheirMeasuredRates) {
  ASSERT_EQ(plan_->shape.paths.size(), 2U);
  const Seconds first = plan_->predicted, second = plan_->predicted * 2;
  const double n = plan_->bytes.real();
  const double rate_1 = plan_->shape.paths[0].bytes().real() / first.value;
  const double rate_2 = plan_->shape.paths[1].bytes().real() / second.value;

  const auto rebalanced = rebalance_shares(planner_, *plan_, std::vector{first, second}, 1);

  ASSERT_TRUE(rebalanced);
  EXPECT_NEAR(rebalanced->shares.at("direct"), rate_1 / (rate_1 + rate_2), 0.02);
  EXPECT_NEAR(rebalanced->expected.value, n / (rate_1 + rate_2), 0.02 * first.value);
  EXPECT_EQ(rebalanced->before, second);
}

TEST_F(Levelled, ADampedStepGoesPartOfTheWay) {
  const std::vector measured{plan_->predicted, plan_->predicted * 2};
  const double planned = plan_->shape.paths[0].bytes().real() / plan_->bytes.real();

  const double whole = rebalance_shares(planner_, *plan_, measured, 1)->shares.at("direct");
  const double half = rebalance_shares(planner_, *plan_, measured, 0.5)->shares.at("direct");

  EXPECT_NEAR(half - planned, (whole - planned) / 2, 1e-9);
}

TEST_F(Levelled, TimesThatAreNoneSayNothing) {
  EXPECT_FALSE(rebalance_shares(planner_, *plan_, std::vector{1_us}, 1));
  EXPECT_FALSE(rebalance_shares(planner_, *plan_, std::vector{1_us, Seconds{}}, 1));
}

TEST_F(Levelled, AnotherSplitKeepsEveryByteAndPath) {
  const PlanPointer other =
      planner_.with_split(*plan_, {.shares = {{"direct", 0.75}, {"gpu1", 0.25}}, .chunks = 2});

  EXPECT_EQ(other->shape.total(), plan_->bytes);
  EXPECT_EQ(other->executor(), plan_->executor());
  EXPECT_NEAR(other->shape.paths[0].bytes().real() / plan_->bytes.real(), 0.75, 1e-3);
  EXPECT_GT(other->shape.paths[1].chunks.size(), plan_->shape.paths[1].chunks.size());
  EXPECT_NE(other->decisions.front().reason.find("as measured"), std::string::npos);
}

TEST_F(Levelled, APathMayBeLeftOut) {
  const PlanPointer direct = planner_.with_split(*plan_, {.shares = {{"direct", 1}}});

  EXPECT_EQ(direct->shape.paths.size(), 1U);
  EXPECT_EQ(direct->shape.total(), plan_->bytes);
}

}  // namespace
}  // namespace polypath::test::rebalanced_test
