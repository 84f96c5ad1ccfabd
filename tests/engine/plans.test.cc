// Plans are made in the call, or in the background and then found.

#include <gtest/gtest.h>

#include <future>

#include "engine/planning/background_plans.h"
#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::plans_test {
namespace {

class PlansOfBeluga : public testing::Test {
 protected:
  ~PlansOfBeluga() override { background_.stop(); }

  PlanRequest request(Bytes bytes) const {
    return {machine_.find_place("gpu0"), machine_.find_place("gpu1"), bytes, {}};
  }
  void finish_background() {
    std::promise<void> done;
    background_.post([&] { done.set_value(); });
    done.get_future().wait();
  }

  Machine machine_ = load_machine("beluga");
  Plans plans_{machine_, Settings{}};
  Background background_;
  BackgroundPlans in_background_{Settings{}, plans_, background_};
};

TEST_F(PlansOfBeluga, AreNotKnownAtFirstAndThenAreWhatACallWouldMake) {
  const PlanPointer first = in_background_.find(request(64_MiB));
  finish_background();
  const PlanPointer later = in_background_.find(request(64_MiB));

  EXPECT_EQ(first, nullptr);
  ASSERT_NE(later, nullptr);
  EXPECT_EQ(later, plans_.make(request(64_MiB)));
}

TEST_F(PlansOfBeluga, AreKnownByWhatTheyWereAskedFor) {
  (void)in_background_.find(request(64_MiB));
  finish_background();

  EXPECT_EQ(in_background_.find(request(32_MiB)), nullptr);
}

TEST_F(PlansOfBeluga, ThatCannotBeMadeAreNotTriedAgain) {
  const PlanRequest nonsense{machine_.find_place("gpu0"), machine_.find_place("gpu0"), 64_MiB, {}};

  EXPECT_EQ(in_background_.find(nonsense), nullptr);
  finish_background();
  EXPECT_EQ(in_background_.find(nonsense), nullptr);
}

TEST_F(PlansOfBeluga, AreAskedForByNobodyAfterTheEnd) {
  background_.stop();

  EXPECT_EQ(in_background_.find(request(64_MiB)), nullptr);
  EXPECT_EQ(in_background_.find(request(64_MiB)), nullptr);
}

// What was found, and how often something was.
class Keeper final : public PlanKeeper {
 public:
  FoundPlans read() noexcept override { return known; }
  void keep(const FoundPlans& found) noexcept override {
    known = found;
    ++times;
  }

  FoundPlans known;
  int times = 0;
};

class KeptPlansOfBeluga : public PlansOfBeluga {
 protected:
  std::shared_ptr<Keeper> keeper_ = std::make_shared<Keeper>();
  Plans searching_{machine_, Settings{}, keeper_};
};

TEST_F(KeptPlansOfBeluga, AreKeptInTheBackgroundOnceTheyHaveBeenMade) {
  BackgroundPlans in_background(Settings{}, searching_, background_);

  (void)in_background.find(request(64_MiB));
  (void)in_background.find(request(8_MiB));
  finish_background();
  finish_background();

  EXPECT_EQ(keeper_->times, 1);
  EXPECT_EQ(keeper_->known.recipes.size(), 4U);  // two sizes, as streams and as a graph
}

TEST_F(KeptPlansOfBeluga, AreMadeAgainWithoutASearch) {
  const PlanPointer made = searching_.make(request(64_MiB));
  searching_.keep();

  Plans next(machine_, Settings{}, keeper_);
  const PlanPointer again = next.make(request(64_MiB));
  next.keep();

  EXPECT_EQ(again->structure, made->structure);
  EXPECT_EQ(again->predicted, made->predicted);
  EXPECT_EQ(keeper_->times, 1);  // nothing new was found
}

TEST_F(KeptPlansOfBeluga, AreNotKeptTwice) {
  (void)searching_.make(request(64_MiB));
  searching_.keep();
  searching_.keep();

  EXPECT_EQ(keeper_->times, 1);
}

}  // namespace
}  // namespace polypath::test::plans_test
