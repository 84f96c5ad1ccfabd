// Transfers know of those in flight on other streams, and plan around them.

#include "engine/load_tracker.h"

#include <algorithm>

#include "machine/library.h"
#include "support/rig.h"

namespace polypath::test {
namespace {

constexpr std::size_t kSize = 16 << 20;

// A copy from gpu2 to gpu3: nobody's way back.
Asked on(StreamHandle stream) { return {stream, {2}, {3}, Bytes{kSize}}; }

TEST(LoadTracker, KnowsWhatRunsOnOtherStreamsUntilItsPredictedEnd) {
  const Machine machine = load_machine("beluga");
  Planner planner(machine, Settings{});
  const PlanPointer plan = planner.plan({0}, {1}, Bytes{kSize});
  LoadTracker tracker(machine);
  const Seconds start{1.0};

  tracker.add({1}, plan, start);

  EXPECT_TRUE(tracker.company_of(on({1}), start).load.empty());
  EXPECT_FALSE(tracker.company_of(on({2}), start).load.empty());
  EXPECT_FALSE(tracker.company_of(on({2}), start + plan->predicted * 0.85).load.empty());
  EXPECT_TRUE(tracker.company_of(on({2}), start + plan->predicted * 1.01).load.empty());
}

TEST(LoadTracker, TransfersOfOneStreamRunOneAfterAnother) {
  const Machine machine = load_machine("beluga");
  Planner planner(machine, Settings{});
  const PlanPointer plan = planner.plan({0}, {1}, Bytes{kSize});
  LoadTracker tracker(machine);

  for (int i = 0; i < 3; ++i) tracker.add({1}, plan, {});

  EXPECT_FALSE(tracker.company_of(on({2}), plan->predicted * 2.85).load.empty());
  EXPECT_TRUE(tracker.company_of(on({2}), plan->predicted * 3.1).load.empty());
}

// The load of a direct copy at its solo rate β, on every resource its hop uses.
TEST(LoadTracker, ADirectCopyTakesItsRateOfWhatItsHopUses) {
  const Machine machine = load_machine("h200x4");
  Planner planner(machine, Settings{});
  PlanOptions native;
  native.executor = ExecutorChoice::native;
  const PlanPointer plan = planner.plan({0}, {1}, Bytes{kSize}, native);
  const Hop& hop = machine.hop(plan->shape.paths.at(0).path.first);
  LoadTracker tracker(machine);

  tracker.add({1}, plan, {});
  const Load load = tracker.company_of(on({2}), {}).load;

  for (const Use& use : hop.uses) {
    if (machine.resource(use.resource).copies_at_once > 0) continue;
    EXPECT_NEAR(load.at(use.resource.index()).value, use.weight * hop.bandwidth.value, 1.0)
        << machine.resource(use.resource).name;
  }
}

// Programs that exchange at once do so again: two that overlapped are expected back together.
TEST(LoadTracker, ExpectsBothWaysAgain) {
  const Machine machine = load_machine("beluga");
  Planner planner(machine, Settings{});
  const PlanPointer plan = planner.plan({0}, {1}, Bytes{kSize});
  LoadTracker tracker(machine);
  const Asked back{{2}, {1}, {0}, Bytes{kSize}};
  tracker.add({1}, plan, {});
  tracker.add({2}, planner.plan({1}, {0}, Bytes{kSize}), {});

  const Company during = tracker.company_of(back, {});
  const Company just_after = tracker.company_of(back, plan->predicted * 1.2);
  const Company long_after = tracker.company_of(back, plan->predicted * 3 + 2000_us);

  EXPECT_EQ(during.both_ways, BothWays::by_threads);
  EXPECT_TRUE(during.load.empty());
  EXPECT_EQ(just_after.both_ways, BothWays::by_threads);
  EXPECT_EQ(long_after.both_ways, BothWays::no);
}

// In a ping-pong each way has the machine to itself.
TEST(LoadTracker, TransfersThatTakeTurnsAreAlone) {
  const Machine machine = load_machine("beluga");
  Planner planner(machine, Settings{});
  const PlanPointer plan = planner.plan({0}, {1}, Bytes{kSize});
  LoadTracker tracker(machine);
  tracker.add({1}, plan, {});

  // The prediction may be a little too long.
  const Company after = tracker.company_of({{2}, {1}, {0}, Bytes{kSize}}, plan->predicted * 0.95);

  EXPECT_EQ(after.both_ways, BothWays::no);
  EXPECT_TRUE(after.load.empty());
}

// Programs do the same again: what joined the last transfer is there before it comes.
TEST(LoadTracker, ExpectsWhatJoinedTheLastTransferOfThisWay) {
  const Machine machine = load_machine("beluga");
  Planner planner(machine, Settings{});
  PlanOptions native;
  native.executor = ExecutorChoice::native;
  const PlanPointer first = planner.plan({0}, {1}, Bytes{kSize});
  const PlanPointer joining = planner.plan({0}, {2}, Bytes{kSize}, native);
  const Asked again{{1}, {0}, {1}, Bytes{kSize}};
  LoadTracker tracker(machine);
  tracker.add({1}, first, {});
  tracker.add({2}, joining, {});

  const Company later = tracker.company_of(again, Seconds{1});
  tracker.add({1}, first, Seconds{1});  // alone, this time
  const Company last = tracker.company_of(again, Seconds{2});

  EXPECT_FALSE(later.load.empty());
  EXPECT_EQ(later.native_follower, joining->predicted);
  EXPECT_TRUE(last.load.empty());
  EXPECT_EQ(last.native_follower, Seconds{});
}

TEST(LoadTracker, AnotherPairSizeOrTheOwnStreamIsNoWayBack) {
  const Machine machine = load_machine("beluga");
  Planner planner(machine, Settings{});
  LoadTracker tracker(machine);
  tracker.add({1}, planner.plan({0}, {1}, Bytes{kSize}), {});

  EXPECT_EQ(tracker.company_of({{2}, {0}, {1}, Bytes{kSize}}, {}).both_ways, BothWays::no);
  EXPECT_EQ(tracker.company_of({{2}, {1}, {0}, Bytes{kSize * 3}}, {}).both_ways, BothWays::no);
  EXPECT_EQ(tracker.company_of({{1}, {1}, {0}, Bytes{kSize}}, {}).both_ways, BothWays::no);
}

class PlansUnderLoad : public testing::Test {
 protected:
  PlanPointer copy(const std::string& from, const std::string& to, StreamHandle stream,
                   std::size_t engine = 0) {
    return rig_
        .copy(rig_.buffer(to, kSize), 0, rig_.buffer(from, kSize), 0, kSize, stream, {}, engine)
        .plan;
  }

  static bool uses(const Plan& plan, const std::string& path) {
    return std::any_of(plan.decisions.begin(), plan.decisions.end(),
                       [&](const auto& part) { return part.included && part.name == path; });
  }

  Rig rig_{"beluga"};
  StreamHandle first_ = rig_.stream("gpu0");
  StreamHandle second_ = rig_.stream("gpu1");
};

// On beluga gpu0 to gpu1 goes through gpu2 as well, unless gpu0 sends something there.
TEST_F(PlansUnderLoad, ATransferThatUsesAPathKeepsOthersFromIt) {
  const PlanPointer alone = rig_.engine().plan({0}, {1}, Bytes{kSize});
  copy("gpu0", "gpu2", first_);

  const PlanPointer beside = copy("gpu0", "gpu1", second_);

  EXPECT_TRUE(uses(*alone, "gpu2"));
  EXPECT_FALSE(uses(*beside, "gpu2"));
  EXPECT_TRUE(rig_.intact());
}

// Paths are shared in proportion: each does best with the plan that it has alone.
TEST_F(PlansUnderLoad, ATransferThatGoesTheSameWayDoesNot) {
  const PlanPointer alone = copy("gpu0", "gpu1", first_);

  const PlanPointer beside = copy("gpu0", "gpu1", second_);

  EXPECT_EQ(alone->structure, beside->structure);
}

TEST_F(PlansUnderLoad, ATransferOnTheSameStreamDoesNot) {
  const PlanPointer alone = copy("gpu0", "gpu1", first_);

  const PlanPointer next = copy("gpu0", "gpu1", first_);

  EXPECT_EQ(alone->structure, next->structure);
}

TEST_F(PlansUnderLoad, ATransferThatIsOverDoesNot) {
  const PlanPointer alone = copy("gpu0", "gpu1", first_);
  rig_.synchronize();
  while (rig_.driver().now() < alone->predicted * 2) rig_.driver().synchronize(first_);

  const PlanPointer later = copy("gpu0", "gpu1", second_);

  EXPECT_EQ(alone->structure, later->structure);
}

TEST_F(PlansUnderLoad, EnginesThatShareALoadSeeEachOther) {
  rig_.add_engine();
  copy("gpu0", "gpu2", first_, 0);

  const PlanPointer beside = copy("gpu0", "gpu1", second_, 1);

  EXPECT_FALSE(uses(*beside, "gpu2"));
}

TEST_F(PlansUnderLoad, EnginesWithALoadOfTheirOwnDoNot) {
  Settings settings;
  settings.log_level = "off";
  Engine apart(rig_.driver(), rig_.machine(), settings);
  copy("gpu0", "gpu2", first_);
  Buffer& source = rig_.buffer("gpu0", kSize);
  Buffer& destination = rig_.buffer("gpu1", kSize);

  const CopyResult result = apart.copy(rig_.call(destination, 0, source, 0, kSize, second_));

  EXPECT_TRUE(uses(*result.plan, "gpu2"));
}

}  // namespace
}  // namespace polypath::test
