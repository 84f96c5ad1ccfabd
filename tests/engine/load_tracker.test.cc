// Transfers know of those in flight on other streams, and plan around them.

#include "engine/load/load_tracker.h"

#include <algorithm>
#include <thread>

#include "machine/load_machine.h"
#include "support/rig.h"

namespace polypath::test::load_tracker_test {
namespace {

constexpr std::size_t kSize = 16 << 20;

PlanOptions native() {
  PlanOptions options;
  options.executor = Executor::native;
  return options;
}

TransferRequest asked(StreamHandle stream, PlaceId source, PlaceId destination) {
  return {stream, source, destination, Bytes{kSize}};
}

// A copy from gpu2 to gpu3: the way back of no other.
TransferRequest on(StreamHandle stream) { return asked(stream, {2}, {3}); }

class TrackedLoad : public testing::Test {
 protected:
  PlanPointer planned(PlaceId source, PlaceId destination, const PlanOptions& options = {}) {
    return planner_.plan(source, destination, Bytes{kSize}, options);
  }

  // gpu0 sends to gpu1 on one stream and, so much later, to gpu2 on another. The first one's plan.
  PlanPointer add_burst(Seconds between) {
    PlanPointer first = planned({0}, {1});
    tracker_.add({1}, first, {});
    tracker_.add({2}, planned({0}, {2}), between);
    return first;
  }

  Machine machine_ = load_machine("beluga");
  Planner planner_{machine_, Settings{}};
  LoadTracker tracker_{machine_};
};

TEST_F(TrackedLoad, KnowsWhatRunsOnOtherStreamsUntilItsPredictedEnd) {
  const PlanPointer plan = planned({0}, {1});
  const Seconds start{1.0};

  tracker_.add({1}, plan, start);

  EXPECT_TRUE(tracker_.contention_of(on({1}), start).load.empty());
  EXPECT_FALSE(tracker_.contention_of(on({2}), start).load.empty());
  EXPECT_FALSE(tracker_.contention_of(on({2}), start + plan->predicted * 0.85).load.empty());
  EXPECT_TRUE(tracker_.contention_of(on({2}), start + plan->predicted * 1.01).load.empty());
}

TEST_F(TrackedLoad, TransfersOfOneStreamRunOneAfterAnother) {
  const PlanPointer plan = planned({0}, {1});

  for (int i = 0; i < 3; ++i) tracker_.add({1}, plan, {});

  EXPECT_FALSE(tracker_.contention_of(on({2}), plan->predicted * 2.85).load.empty());
  EXPECT_TRUE(tracker_.contention_of(on({2}), plan->predicted * 3.1).load.empty());
}

TEST_F(TrackedLoad, AConcurrentTransferIsADirectCopyOrThePlanInFlight) {
  const PlanPointer split = planned({0}, {1});
  tracker_.add({1}, split, {});
  tracker_.add({3}, planned({1}, {2}, native()), {});

  const ConcurrentTransfers concurrent = tracker_.contention_of(on({2}), {}).load;

  ASSERT_EQ(concurrent.size(), 2U);
  EXPECT_EQ(concurrent[0].destination, PlaceId{1});
  EXPECT_EQ(concurrent[0].plan, split);
  EXPECT_EQ(concurrent[1].destination, PlaceId{2});
  EXPECT_EQ(concurrent[1].plan, nullptr);
  for (const ConcurrentTransfer& each : concurrent) {
    EXPECT_EQ(each.bytes, Bytes{kSize});
    EXPECT_TRUE(each.in_flight);
    EXPECT_FALSE(each.queued);
  }
}

TEST_F(TrackedLoad, OneOfEachWayIsEnough) {
  tracker_.add({1}, planned({0}, {1}, native()), {});
  tracker_.add({3}, planner_.plan({0}, {1}, Bytes{4 * kSize}, native()), {});

  const ConcurrentTransfers concurrent = tracker_.contention_of(on({2}), {}).load;

  ASSERT_EQ(concurrent.size(), 1U);
  EXPECT_EQ(concurrent[0].bytes, Bytes{4 * kSize});
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

  EXPECT_EQ(tracker.contention_of(on({2}), {}).load.size(), kMostConcurrent + 1);
}

// A program that queues on one stream does so on the others, and what is queued behind comes next.
TEST_F(TrackedLoad, KnowsWhatIsQueued) {
  const PlanPointer plan = planned({0}, {1});
  tracker_.add({1}, plan, {});
  const Contention once = tracker_.contention_of(on({2}), {});
  tracker_.add({2}, planned({2}, {3}), {});
  const Contention on_a_busy_stream = tracker_.contention_of(on({2}), {});
  tracker_.add({1}, plan, {});

  const Contention twice = tracker_.contention_of(on({4}), {});

  EXPECT_FALSE(once.load.at(0).queued);
  EXPECT_TRUE(on_a_busy_stream.load.at(0).queued);
  EXPECT_TRUE(twice.load.at(0).queued);
}

// --- what turns out to be over ---

IsIdle only(StreamHandle stream) {
  return [stream](StreamHandle each, std::thread::id) { return each == stream; };
}

TEST_F(TrackedLoad, AnIdleStreamsTransfersAreOverBeforeTheirPredictedEnd) {
  const PlanPointer plan = planned({0}, {1});
  for (int i = 0; i < 20; ++i) tracker_.add({1}, plan, {});

  tracker_.note_idle(only({1}), tracker_.newest(), plan->predicted * 15);

  EXPECT_TRUE(tracker_.contention_of(on({2}), plan->predicted * 15).load.empty());
  EXPECT_EQ(tracker_.newest(), 0U) << "nothing is left to be asked about";
}

// nvbandwidth: a small copy the other way between two samples, each of which it waits for.
TEST_F(TrackedLoad, WhatIsIssuedAfterAnIdleStreamsTransfersHasNotMetThem) {
  const PlanPointer plan = planned({0}, {1});
  const Seconds later = plan->predicted * 15;
  for (int i = 0; i < 20; ++i) tracker_.add({1}, plan, {});
  tracker_.note_idle(only({1}), tracker_.newest(), later);

  tracker_.add({2}, planned({1}, {0}), later);
  tracker_.note_idle(only({2}), tracker_.newest(), later + 1_us);

  const Contention next = tracker_.contention_of(asked({1}, {0}, {1}), later + 2_us);
  EXPECT_EQ(next.both_ways, BothWays::no);
  EXPECT_TRUE(next.load.empty());
}

TEST_F(TrackedLoad, AnotherStreamsTransfersGoOn) {
  tracker_.add({1}, planned({0}, {1}), {});
  tracker_.add({3}, planned({1}, {2}), {});

  tracker_.note_idle(only({1}), tracker_.newest(), 1_us);

  const ConcurrentTransfers left = tracker_.contention_of(on({2}), 1_us).load;
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].destination, PlaceId{2});
}

// By another thread, between the question to the driver and its answer.
TEST_F(TrackedLoad, WhatWasIssuedMeanwhileGoesOn) {
  tracker_.add({1}, planned({0}, {1}), {});
  const TransferNumber newest = tracker_.newest();
  tracker_.add({1}, planned({0}, {1}), {});

  tracker_.note_idle(only({1}), newest, 1_us);

  EXPECT_FALSE(tracker_.contention_of(on({2}), 1_us).load.empty());
}

// Each thread's own default stream has the same handle.
TEST_F(TrackedLoad, AStreamMayBeIdleForOneThreadOnly) {
  tracker_.add({1}, planned({0}, {1}), {});
  const auto of_this_thread = [](StreamHandle, std::thread::id issuer) {
    return issuer == std::this_thread::get_id();
  };

  std::thread([&] { tracker_.note_idle(of_this_thread, tracker_.newest(), 1_us); }).join();
  const bool goes_on = !tracker_.contention_of(on({2}), 1_us).load.empty();
  tracker_.note_idle(of_this_thread, tracker_.newest(), 1_us);

  EXPECT_TRUE(goes_on);
  EXPECT_TRUE(tracker_.contention_of(on({2}), 1_us).load.empty());
}

TEST_F(TrackedLoad, WhatIsOverByPredictionIsForgottenAtAnyIdleStream) {
  const PlanPointer plan = planned({0}, {1});
  tracker_.add({1}, plan, {});

  tracker_.note_idle(only({2}), tracker_.newest(), plan->predicted * 0.5);
  const TransferNumber during = tracker_.newest();
  tracker_.note_idle(only({2}), tracker_.newest(), plan->predicted * 2);

  EXPECT_EQ(during, 1U);
  EXPECT_EQ(tracker_.newest(), 0U);
}

// Two threads, each of which waits for its own copies, are in flight together all the same.
TEST_F(TrackedLoad, RoundsThatAreWaitedForStillMeet) {
  for (int round = 0; round < 3; ++round) {
    const Seconds start{static_cast<double>(round)};
    tracker_.add({1}, planned({0}, {1}, native()), start);
    std::thread([&] { tracker_.add({2}, planned({1}, {0}), start + 5_us); }).join();
    tracker_.note_idle(only({1}), tracker_.newest(), start + 50_us);
    tracker_.note_idle(only({2}), tracker_.newest(), start + 60_us);
  }

  const Contention next = tracker_.contention_of(asked({1}, {0}, {1}), Seconds{3});

  EXPECT_EQ(next.both_ways, BothWays::by_threads);
}

// --- what is expected ---

// The first transfer of a way that meets others may be in the middle of a burst. Alone it is free.
TEST_F(TrackedLoad, KnowsNothingOfWhatFollowsTheFirstTransferOfAWay) {
  const PlanPointer plan = planned({0}, {1});
  const TransferRequest other = asked({2}, {0}, {2});

  const Contention alone = tracker_.contention_of(other, {});
  tracker_.add({1}, plan, {});
  const Contention beside = tracker_.contention_of(other, {});
  tracker_.add({2}, planned({0}, {2}), {});
  const Contention again = tracker_.contention_of(other, Seconds{1});

  EXPECT_FALSE(alone.followers_unknown);
  EXPECT_TRUE(beside.followers_unknown);
  EXPECT_FALSE(again.followers_unknown);
}

// Programs that exchange at once do so again, however long they compute in between.
TEST_F(TrackedLoad, ExpectsBothWaysAgain) {
  const PlanPointer plan = planned({0}, {1}, native());
  const TransferRequest back = asked({2}, {1}, {0});
  tracker_.add({1}, plan, {});
  tracker_.add({2}, planned({1}, {0}), {});

  const Contention during = tracker_.contention_of(back, {});
  const Contention long_after = tracker_.contention_of(back, Seconds{1});

  EXPECT_EQ(during.both_ways, BothWays::by_threads);
  EXPECT_TRUE(during.load.empty());
  EXPECT_EQ(long_after.both_ways, BothWays::by_threads);
  EXPECT_TRUE(long_after.load.empty());
}

TEST_F(TrackedLoad, KnowsTheThreadThatIssuesBothWays) {
  const TransferRequest ahead = asked({1}, {0}, {1});
  const auto both_ways = [&](auto issue) {
    LoadTracker tracker(machine_);
    tracker.add({1}, planned({0}, {1}, native()), {});
    issue([&] { tracker.add({2}, planned({1}, {0}, native()), 5_us); });
    return tracker.contention_of(ahead, Seconds{1}).both_ways;
  };

  EXPECT_EQ(both_ways([](auto call) { call(); }), BothWays::by_one_thread);
  EXPECT_EQ(both_ways([](auto call) { std::thread(call).join(); }), BothWays::by_threads);
}

// In a ping-pong each way has the machine to itself.
TEST_F(TrackedLoad, TransfersThatTakeTurnsAreAlone) {
  const PlanPointer plan = planned({0}, {1});
  tracker_.add({1}, plan, {});

  // The prediction may be a little too long.
  const Contention after = tracker_.contention_of(asked({2}, {1}, {0}), plan->predicted * 0.95);

  EXPECT_EQ(after.both_ways, BothWays::no);
  EXPECT_TRUE(after.load.empty());
}

// Programs do the same again: what joined the last transfers is there before it comes.
TEST_F(TrackedLoad, ExpectsWhatJoinedTheLastTransfersOfThisWay) {
  add_burst(5_us);
  const TransferRequest again = asked({1}, {0}, {1});

  const Contention later = tracker_.contention_of(again, Seconds{1});

  ASSERT_EQ(later.load.size(), 1U);
  EXPECT_EQ(later.load[0].destination, PlaceId{2});
  EXPECT_EQ(later.load[0].plan, nullptr) << "it decides anew";
  EXPECT_FALSE(later.load[0].in_flight);
  EXPECT_TRUE(later.load[0].same_thread);
}

// The plan in flight is of the last round, and will not last: what comes in this one decides anew.
TEST_F(TrackedLoad, OfWhatIsMostlyOverTheNextOneCounts) {
  const PlanPointer plan = add_burst({});
  const TransferRequest next = asked({2}, {0}, {2});

  const ConcurrentTransfers early = tracker_.contention_of(next, plan->predicted * 0.3).load;
  const ConcurrentTransfers late = tracker_.contention_of(next, plan->predicted * 0.7).load;

  ASSERT_EQ(early.size(), 1U);
  EXPECT_EQ(early[0].plan, plan);
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].plan, nullptr);
  EXPECT_FALSE(late[0].in_flight);
}

TEST_F(TrackedLoad, ForgetsWhatHasNotJoinedForAWhile) {
  const PlanPointer first = add_burst({});
  const TransferRequest again = asked({1}, {0}, {1});

  std::vector<bool> alone;
  for (int time = 1; time <= 4; ++time) {
    alone.push_back(tracker_.contention_of(again, Seconds(time)).load.empty());
    tracker_.add({1}, first, Seconds(time));
  }

  EXPECT_EQ(alone, (std::vector<bool>{false, false, false, true}));
}

// In order on one stream: they never run at the same time.
TEST_F(TrackedLoad, TransfersOfOneStreamDoNotMeet) {
  tracker_.add({1}, planned({0}, {1}), {});
  tracker_.add({1}, planned({0}, {2}), {});

  EXPECT_TRUE(tracker_.contention_of(asked({1}, {0}, {1}), Seconds{1}).load.empty());
}

TEST_F(TrackedLoad, AnotherPairSizeOrTheOwnStreamIsNoWayBack) {
  tracker_.add({1}, planned({0}, {1}), {});

  EXPECT_EQ(tracker_.contention_of(asked({2}, {0}, {1}), {}).both_ways, BothWays::no);
  EXPECT_EQ(tracker_.contention_of({{2}, {1}, {0}, Bytes{kSize * 3}}, {}).both_ways, BothWays::no);
  EXPECT_EQ(tracker_.contention_of(asked({1}, {1}, {0}), {}).both_ways, BothWays::no);
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
// round no plan knows that.
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

// Paths are shared in proportion: the solo plans remain optimal.
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

// The machine is four times as fast as the planner believes.
TEST(LoadOfAnEngine, ItKnowsThatAStreamThatItHasWaitedForIsIdle) {
  const Machine machine = load_machine("beluga");
  Machine believed = machine;
  for (Resource& resource : believed.resources) resource.capacity.value /= 4;
  for (Hop& hop : believed.hops) hop.bandwidth.value /= 4;
  Rig rig(machine, Settings{});
  Engine engine(rig.driver(), believed, Settings{});
  const StreamHandle first = rig.stream("gpu0"), second = rig.stream("gpu1");
  const CopyCall call =
      rig.call(rig.buffer("gpu2", kSize), 0, rig.buffer("gpu0", kSize), 0, kSize, first);
  const CopyCall other =
      rig.call(rig.buffer("gpu1", kSize), 0, rig.buffer("gpu0", kSize), 0, kSize, second);

  engine.copy(call);
  rig.driver().synchronize(first);
  const bool is_believed_to_run = !engine.decide(other).contention.load.empty();
  engine.synchronize(first);

  EXPECT_TRUE(is_believed_to_run);
  EXPECT_TRUE(engine.decide(other).contention.load.empty());
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
}  // namespace polypath::test::load_tracker_test
