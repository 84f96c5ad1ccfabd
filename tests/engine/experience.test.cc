// What is concluded from measured times, without a driver.

#include "engine/learn/experience.h"

#include <gtest/gtest.h>

#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::experience_test {
namespace {

class ExperienceTest : public testing::Test {
 protected:
  ExperienceTest() : machine_(load_machine("beluga")), planner_(machine_, {}) {
    plan_ = planner_.plan(machine_.find_place("gpu0"), machine_.find_place("gpu1"), 64_MiB);
    kind_ = {.source = plan_->source, .destination = plan_->destination, .size = plan_->bytes};
  }

  /// One transfer: advice is followed, and it takes `paths` or `native`, each path as long.
  Advice transfer(Seconds paths, Seconds native) {
    const Advice advice = experience_.suggest(kind_, *plan_, MayTime::anything);
    if (!advice.timed) return advice;
    if (advice.natively) experience_.note_native(kind_, native);
    else note(advice, paths, std::vector<Seconds>(plan_->shape.paths.size(), paths));
    return advice;
  }
  void note(const Advice& advice, Seconds whole, std::vector<Seconds> paths) {
    if (!advice.path_by_path) paths.clear();
    experience_.note_paths(kind_, advice.version, {whole, std::move(paths)},
                           [&](std::span<const Seconds> each, double damping) {
                             return rebalance_shares(planner_, *plan_, each, damping);
                           });
  }
  int natively_of(int transfers, Seconds paths, Seconds native) {
    int natively = 0;
    for (int i = 0; i < transfers; ++i) natively += transfer(paths, native).natively ? 1 : 0;
    return natively;
  }

  Machine machine_;
  Planner planner_;
  PlanPointer plan_;
  TransferKind kind_;
  Experience experience_{16};
};

TEST_F(ExperienceTest, TheFirstTransfersAreNotTimed) {
  EXPECT_FALSE(transfer(1_us, 1_us).timed);
  EXPECT_FALSE(transfer(1_us, 1_us).timed);

  const bool third = transfer(1_us, 1_us).timed, fourth = transfer(1_us, 1_us).timed;

  EXPECT_TRUE(third || fourth);
}

TEST_F(ExperienceTest, WhatTakesLongerThanNativelyGoesNativelyAfterADozen) {
  const Seconds native = plan_->native_predicted;

  (void)natively_of(12, native * 1.2, native);

  EXPECT_GE(natively_of(40, native * 1.2, native), 30);  // the others try other splits
  (void)natively_of(300, native * 1.2, native);
  EXPECT_GE(natively_of(150, native * 1.2, native), 149);
}

TEST_F(ExperienceTest, WhatTakesAsLongAsPredictedIsHardlyEverTriedNatively) {
  const int natively = natively_of(400, plan_->predicted, plan_->native_predicted);

  EXPECT_GT(natively, 0);
  EXPECT_LE(natively, 8);
}

TEST_F(ExperienceTest, WhatWasSlowerOnceIsTriedAgainAndTaken) {
  const Seconds native = plan_->native_predicted;
  (void)natively_of(400, native * 1.2, native);

  (void)natively_of(1500, native * 0.5, native);

  EXPECT_LE(natively_of(100, native * 0.5, native), 3);
}

TEST_F(ExperienceTest, WhereNothingCanBeTimedThePlanStays) {
  for (int i = 0; i < 100; ++i) {
    const Advice advice = experience_.suggest(kind_, *plan_, MayTime::nothing);
    EXPECT_FALSE(advice.timed || advice.natively);
  }
}

// Transfers that are queued behind something are all issued before the first one can be read.
TEST_F(ExperienceTest, NothingIsTriedWhileATrialHasNotBeenRead) {
  const Seconds native = plan_->native_predicted;
  const bool is_tried = [&] {
    for (int i = 0; i < 20; ++i)
      if (transfer(native * 1.2, native).trial) return true;
    return false;
  }();

  int tried = 0;
  for (int i = 0; i < 40; ++i) {
    const Advice advice = experience_.suggest(kind_, *plan_, MayTime::what_is_known);
    tried += advice.trial || advice.natively || advice.path_by_path ? 1 : 0;
  }

  EXPECT_TRUE(is_tried);
  EXPECT_EQ(tried, 0);
  EXPECT_TRUE(experience_.suggest(kind_, *plan_, MayTime::anything).trial) << "it is overdue";
}

TEST_F(ExperienceTest, ALatePathGivesBytesToTheOthers) {
  std::vector<Seconds> late(plan_->shape.paths.size(), plan_->predicted);
  late.back() = plan_->predicted * 1.5;
  const std::string name = name_of(machine_, plan_->shape.paths.back().path);
  const double planned = plan_->shape.paths.back().bytes().real() / plan_->bytes.real();

  Split tried;
  for (int i = 0; i < 120 && tried.shares.empty(); ++i) {
    const Advice advice = experience_.suggest(kind_, *plan_, MayTime::anything);
    if (advice.timed && !advice.natively) note(advice, late.back(), late);
    tried = advice.split;
  }

  ASSERT_FALSE(tried.shares.empty());
  double sum = 0;
  for (const auto& [path, share] : tried.shares) sum += share;
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_LT(tried.shares.at(name), planned);
}

TEST_F(ExperienceTest, ASplitThatIsNoBetterIsTakenBack) {
  std::vector<Seconds> late(plan_->shape.paths.size(), plan_->predicted);
  late.back() = plan_->predicted * 1.5;
  for (int i = 0; i < 1200; ++i) {
    const Advice advice = experience_.suggest(kind_, *plan_, MayTime::anything);
    if (advice.timed && !advice.natively) note(advice, late.back(), late);
  }

  const Advice advice = experience_.suggest(kind_, *plan_, MayTime::anything);

  EXPECT_EQ(advice.split, Split{});
  EXPECT_FALSE(advice.path_by_path);
}

TEST_F(ExperienceTest, WhatWasLearntCanBeTakenUpAgain) {
  const Seconds native = plan_->native_predicted;
  (void)natively_of(100, native * 1.2, native);
  const auto learnt = experience_.learnt();
  ASSERT_EQ(learnt.size(), 1U);
  EXPECT_TRUE(learnt.front().second.natively);

  Experience later{16};
  later.recall(learnt.front().first, learnt.front().second);

  EXPECT_TRUE(later.suggest(kind_, *plan_, MayTime::anything).natively);
}

}  // namespace
}  // namespace polypath::test::experience_test
