// Transfers know of those in flight on other streams, and plan around them.

#include "engine/load_tracker.h"

#include <algorithm>
#include <thread>

#include "machine/library.h"
#include "support/rig.h"

namespace polypath::test {
namespace {

constexpr std::size_t kSize = 16 << 20;

PlanOptions native() {
  PlanOptions options;
  options.executor = ExecutorChoice::native;
  return options;
}

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

TEST(LoadTracker, ACompanionIsADirectCopyOrThePlanInFlight) {
  const Machine machine = load_machine("beluga");
  Planner planner(machine, Settings{});
  LoadTracker tracker(machine);
  const PlanPointer split = planner.plan({0}, {1}, Bytes{kSize});
  tracker.add({1}, split, {});
  tracker.add({3}, planner.plan({1}, {2}, Bytes{kSize}, native()), {});

  const Companions companions = tracker.company_of(on({2}), {}).load;

  ASSERT_EQ(companions.size(), 2U);
  EXPECT_EQ(companions[0].destination, PlaceId{1});
  EXPECT_EQ(companions[0].plan, split);
  EXPECT_EQ(companions[1].destination, PlaceId{2});
  EXPECT_EQ(companions[1].plan, nullptr);
  for (const Companion& each : companions) {
    EXPECT_EQ(each.bytes, Bytes{kSize});
    EXPECT_TRUE(each.in_flight);
    EXPECT_FALSE(each.queued);
  }
}

TEST(LoadTracker, OneOfEachWayIsEnough) {
  const Machine machine = load_machine("beluga");
  Planner planner(machine, Settings{});
  LoadTracker tracker(machine);
  tracker.add({1}, planner.plan({0}, {1}, Bytes{kSize}, native()), {});
  tracker.add({3}, planner.plan({0}, {1}, Bytes{4 * kSize}, native()), {});

  const Companions companions = tracker.company_of(on({2}), {}).load;

  ASSERT_EQ(companions.size(), 1U);
  EXPECT_EQ(companions[0].bytes, Bytes{4 * kSize});
}

TEST(LoadTracker, SaysThatThereAreTooMany) {
  const Machine machine = load_machine("dgx-a100");
  Planner planner(machine, Settings{});
  LoadTracker tracker(machine);
  std::uint64_t stream = 10;
  for (int from = 0; from < 8; ++from)
    for (int to = 0; to < 8; ++to)
      if (from != to)
        tracker.add({stream++}, planner.plan({from}, {to}, Bytes{kSize}, native()), {});

  EXPECT_EQ(tracker.company_of(on({2}), {}).load.size(), kMostCompanions + 1);
}

// Who queues on one stream does so on the others, and what is queued behind comes next.
TEST(LoadTracker, KnowsWhatIsQueued) {
  const Machine machine = load_machine("beluga");
  Planner planner(machine, Settings{});
  const PlanPointer plan = planner.plan({0}, {1}, Bytes{kSize});
  LoadTracker tracker(machine);
  tracker.add({1}, plan, {});
  const Company once = tracker.company_of(on({2}), {});
  tracker.add({2}, planner.plan({2}, {3}, Bytes{kSize}), {});
  const Company on_a_busy_stream = tracker.company_of(on({2}), {});
  tracker.add({1}, plan, {});

  const Company twice = tracker.company_of(on({4}), {});

  EXPECT_FALSE(once.load.at(0).queued);
  EXPECT_TRUE(on_a_busy_stream.load.at(0).queued);
  EXPECT_TRUE(twice.load.at(0).queued);
}

// --- what is expected ---

// The first transfer of a way that meets others may be in the middle of a burst. Alone it is free.
TEST(LoadTracker, KnowsNothingOfWhatFollowsTheFirstTransferOfAWay) {
  const Machine machine = load_machine("beluga");
  Planner planner(machine, Settings{});
  const PlanPointer plan = planner.plan({0}, {1}, Bytes{kSize});
  const Asked other{{2}, {0}, {2}, Bytes{kSize}};
  LoadTracker tracker(machine);

  const Company alone = tracker.company_of(other, {});
  tracker.add({1}, plan, {});
  const Company beside = tracker.company_of(other, {});
  tracker.add({2}, planner.plan({0}, {2}, Bytes{kSize}), {});
  const Company again = tracker.company_of(other, Seconds{1});

  EXPECT_FALSE(alone.followers_unknown);
  EXPECT_TRUE(beside.followers_unknown);
  EXPECT_FALSE(again.followers_unknown);
}

// Programs that exchange at once do so again, however long they compute in between.
TEST(LoadTracker, ExpectsBothWaysAgain) {
  const Machine machine = load_machine("beluga");
  Planner planner(machine, Settings{});
  const PlanPointer plan = planner.plan({0}, {1}, Bytes{kSize}, native());
  LoadTracker tracker(machine);
  const Asked back{{2}, {1}, {0}, Bytes{kSize}};
  tracker.add({1}, plan, {});
  tracker.add({2}, planner.plan({1}, {0}, Bytes{kSize}), {});

  const Company during = tracker.company_of(back, {});
  const Company long_after = tracker.company_of(back, Seconds{1});

  EXPECT_EQ(during.both_ways, BothWays::by_threads);
  EXPECT_TRUE(during.load.empty());
  EXPECT_EQ(long_after.both_ways, BothWays::by_threads);
  EXPECT_TRUE(long_after.load.empty());
}

TEST(LoadTracker, KnowsTheThreadThatIssuesBothWays) {
  const Machine machine = load_machine("beluga");
  Planner planner(machine, Settings{});
  const Asked ahead{{1}, {0}, {1}, Bytes{kSize}};
  const auto both_ways = [&](auto issue) {
    LoadTracker tracker(machine);
    tracker.add({1}, planner.plan({0}, {1}, Bytes{kSize}, native()), {});
    issue([&] { tracker.add({2}, planner.plan({1}, {0}, Bytes{kSize}, native()), 5_us); });
    return tracker.company_of(ahead, Seconds{1}).both_ways;
  };

  EXPECT_EQ(both_ways([](auto call) { call(); }), BothWays::by_one_thread);
  EXPECT_EQ(both_ways([](auto call) { std::thread(call).join(); }), BothWays::by_threads);
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

// Programs do the same again: what joined the last transfers is there before it comes.
TEST(LoadTracker, ExpectsWhatJoinedTheLastTransfersOfThisWay) {
  const Machine machine = load_machine("beluga");
  Planner planner(machine, Settings{});
  const PlanPointer first = planner.plan({0}, {1}, Bytes{kSize});
  const Asked again{{1}, {0}, {1}, Bytes{kSize}};
  LoadTracker tracker(machine);
  tracker.add({1}, first, {});
  tracker.add({2}, planner.plan({0}, {2}, Bytes{kSize}), 5_us);

  const Company later = tracker.company_of(again, Seconds{1});

  ASSERT_EQ(later.load.size(), 1U);
  EXPECT_EQ(later.load[0].destination, PlaceId{2});
  EXPECT_EQ(later.load[0].plan, nullptr) << "it decides anew";
  EXPECT_FALSE(later.load[0].in_flight);
  EXPECT_TRUE(later.load[0].same_thread);
}

// The plan in flight is of the last round, and will not last: what comes in this one decides anew.
TEST(LoadTracker, OfWhatIsMostlyOverTheNextOneCounts) {
  const Machine machine = load_machine("beluga");
  Planner planner(machine, Settings{});
  const PlanPointer plan = planner.plan({0}, {1}, Bytes{kSize});
  const Asked asked{{2}, {0}, {2}, Bytes{kSize}};
  LoadTracker tracker(machine);
  tracker.add({1}, plan, {});
  tracker.add({2}, planner.plan({0}, {2}, Bytes{kSize}), {});

  const Companions early = tracker.company_of(asked, plan->predicted * 0.3).load;
  const Companions late = tracker.company_of(asked, plan->predicted * 0.7).load;

  ASSERT_EQ(early.size(), 1U);
  EXPECT_EQ(early[0].plan, plan);
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].plan, nullptr);
  EXPECT_FALSE(late[0].in_flight);
}

TEST(LoadTracker, ForgetsWhatHasNotJoinedForAWhile) {
  const Machine machine = load_machine("beluga");
  Planner planner(machine, Settings{});
  const PlanPointer first = planner.plan({0}, {1}, Bytes{kSize});
  const Asked again{{1}, {0}, {1}, Bytes{kSize}};
  LoadTracker tracker(machine);
  tracker.add({1}, first, {});
  tracker.add({2}, planner.plan({0}, {2}, Bytes{kSize}), {});

  std::vector<bool> alone;
  for (int time = 1; time <= 4; ++time) {
    alone.push_back(tracker.company_of(again, Seconds(time)).load.empty());
    tracker.add({1}, first, Seconds(time));
  }

  EXPECT_EQ(alone, (std::vector<bool>{false, false, false, true}));
}

// In order on one stream: they never run at the same time.
TEST(LoadTracker, TransfersOfOneStreamDoNotMeet) {
  const Machine machine = load_machine("beluga");
  Planner planner(machine, Settings{});
  LoadTracker tracker(machine);
  tracker.add({1}, planner.plan({0}, {1}, Bytes{kSize}), {});
  tracker.add({1}, planner.plan({0}, {2}, Bytes{kSize}), {});

  EXPECT_TRUE(tracker.company_of({{1}, {0}, {1}, Bytes{kSize}}, Seconds{1}).load.empty());
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

// On beluga gpu0 to gpu1 goes through gpu2 as well, unless gpu0 sends something there. In the first
// round nobody knows that.
TEST_F(PlansUnderLoad, ATransferThatUsesAPathKeepsOthersFromIt) {
  const PlanPointer alone = rig_.engine().plan({0}, {1}, Bytes{kSize});
  copy("gpu0", "gpu2", first_);
  copy("gpu0", "gpu1", second_);
  rig_.synchronize();

  const PlanPointer other = copy("gpu0", "gpu2", first_);
  const PlanPointer beside = copy("gpu0", "gpu1", second_);

  EXPECT_TRUE(uses(*alone, "gpu2"));
  EXPECT_FALSE(uses(*other, "gpu1"));
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
  copy("gpu0", "gpu1", second_, 1);
  rig_.synchronize();
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
