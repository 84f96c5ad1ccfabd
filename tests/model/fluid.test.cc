// Timelines traced by hand on the hand machine: α = 10 us, 0.8 GB/s (800 bytes per microsecond)
// between GPUs, 0.3 from gpu2 to gpu1, 1 into each GPU; 0.5 from the host, one copy at a time.

#include "model/fluid.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "model/close.h"
#include "support/errors.h"
#include "support/hand_machine.h"
#include "support/random.h"

namespace polypath::test::fluid_test {
namespace {

class FluidTimeline : public testing::Test {
 public:
  ActivityPointer copy(const std::string& source, const std::string& destination, Bytes bytes,
                       Seconds issued = {}) {
    auto activity = std::make_shared<Activity>();
    activity->hop =
        *machine_.find_hop(machine_.find_place(source), machine_.find_place(destination));
    activity->bytes = bytes;
    activity->issued = issued;
    return activity;
  }
  ActivityPointer submit(const ActivityPointer& activity) {
    fluid_.submit(activity);
    return activity;
  }

 protected:
  Machine machine_ = hand_machine();
  HopRates rates_{machine_};
  Fluid fluid_{machine_, rates_};
};

// --- sharing ---

// α + b/β = 10 + 8000/800
TEST_F(FluidTimeline, OneCopyTakesItsLatencyAndItsBytes) {
  const auto only = submit(copy("gpu0", "gpu1", 8000_B, 5_us));

  fluid_.drain();

  EXPECT_TRUE(close(only->started, 5_us));
  EXPECT_TRUE(close(only->finished, 25_us));
}

// gpu0 makes a long copy to gpu1 until 10 + 80000/800 = 110. One to the host meanwhile takes
// 3 longer to start, and 2·3 if its stream waited first: 20 + 10 + 3 + 10, 50 + 10 + 6 + 10.
TEST_F(FluidTimeline, ABusyGpuStartsCopiesLater) {
  machine_.places[0].busy_latency = 3_us;
  const auto whole = submit(copy("gpu0", "gpu1", 80000_B));
  const auto chunk = submit(copy("gpu0", "host0", 5000_B, 20_us));
  const auto waited = copy("gpu0", "host0", 5000_B, 50_us);
  waited->waits = true;
  submit(waited);

  fluid_.drain();

  EXPECT_TRUE(close(whole->finished, 110_us));
  EXPECT_TRUE(close(chunk->finished, 43_us));
  EXPECT_TRUE(close(waited->finished, 76_us));
}

// Alone, and beside copies that another GPU makes, nothing is added: 10 + 10.
TEST_F(FluidTimeline, OtherGpusDoNotKeepAGpuBusy) {
  machine_.places[0].busy_latency = 3_us;
  submit(copy("gpu2", "gpu1", 8000_B));
  const auto chunk = submit(copy("gpu0", "host0", 5000_B));

  fluid_.drain();

  EXPECT_TRUE(close(chunk->finished, 20_us));
}

// Both flow from 10 on at 0.5 GB/s: 10 + 5000/500
TEST_F(FluidTimeline, TwoCopiesDivideTheLink) {
  const auto one = submit(copy("gpu0", "gpu1", 5000_B));
  const auto other = submit(copy("gpu0", "gpu1", 5000_B));

  fluid_.drain();

  EXPECT_TRUE(close(one->finished, 20_us));
  EXPECT_TRUE(close(other->finished, 20_us));
}

// gpu2 -> gpu1 has its 0.3 and leaves 0.7: both need 10 us for 3000 and 7000 bytes.
TEST_F(FluidTimeline, ASlowCopyLeavesTheRestToTheOther) {
  const auto slow = submit(copy("gpu2", "gpu1", 3000_B));
  const auto fast = submit(copy("gpu0", "gpu1", 7000_B));

  fluid_.drain();

  EXPECT_TRUE(close(slow->finished, 20_us));
  EXPECT_TRUE(close(fast->finished, 20_us));
}

// The first flows from 10 at 0.8: 4000 bytes by 15, when the second starts to flow. Then 0.5 each:
// the first ends at 15 + 4000/500 = 23. The second has 1000 of its 5000 bytes left, at 0.8 again:
// 23 + 1000/800 = 24.25.
TEST_F(FluidTimeline, RatesChangeWheneverACopyStartsOrEnds) {
  const auto first = submit(copy("gpu0", "gpu1", 8000_B));
  const auto second = submit(copy("gpu0", "gpu1", 5000_B, 5_us));

  fluid_.drain();

  EXPECT_TRUE(close(first->finished, 23_us));
  EXPECT_TRUE(close(second->finished, 24.25_us));
}

TEST_F(FluidTimeline, CopiesThatShareNothingDoNotMatterToEachOther) {
  const auto one = submit(copy("gpu0", "gpu1", 8000_B));
  const auto other = submit(copy("gpu1", "gpu0", 8000_B));

  fluid_.drain();

  EXPECT_TRUE(close(one->finished, 20_us));
  EXPECT_TRUE(close(other->finished, 20_us));
}

// --- engines ---

// Each occupies gpu1's engine for 10 + 5000/500 = 20 us, latency included.
TEST_F(FluidTimeline, ASerialEngineTakesOneCopyAtATime) {
  const auto first = submit(copy("host0", "gpu1", 5000_B));
  const auto second = submit(copy("host0", "gpu1", 5000_B));
  const auto elsewhere = submit(copy("host0", "gpu0", 5000_B));

  fluid_.drain();

  EXPECT_TRUE(close(first->finished, 20_us));
  EXPECT_TRUE(close(second->started, 20_us));
  EXPECT_TRUE(close(second->finished, 40_us));
  EXPECT_TRUE(close(elsewhere->finished, 20_us));
}

// Both wait for the first to end at 20; the one submitted last was ready first.
TEST_F(FluidTimeline, AnEngineServesWhoeverWasReadyFirst) {
  submit(copy("host0", "gpu1", 5000_B));
  const auto late = submit(copy("host0", "gpu1", 5000_B, 2_us));
  const auto early = submit(copy("host0", "gpu1", 5000_B, 1_us));

  fluid_.drain();

  EXPECT_TRUE(close(early->finished, 40_us));
  EXPECT_TRUE(close(late->finished, 60_us));
}

TEST_F(FluidTimeline, EqualReadinessIsServedInOrderOfIssue) {
  const auto first = submit(copy("host0", "gpu1", 5000_B, 3_us));
  const auto second = submit(copy("host0", "gpu1", 1000_B, 3_us));
  const auto third = submit(copy("host0", "gpu1", 500_B, 3_us));

  fluid_.drain();

  EXPECT_TRUE(close(first->finished, 23_us));
  EXPECT_TRUE(close(second->finished, 35_us));  // 23 + 10 + 2
  EXPECT_TRUE(close(third->finished, 46_us));   // 35 + 10 + 1
}

// --- order ---

// The first ends at 20; 7 later the second starts: 27 + 10 + 8000/800.
TEST_F(FluidTimeline, ADependencyDelaysTheStart) {
  const auto first = copy("gpu0", "gpu1", 8000_B);
  const auto second = copy("gpu1", "gpu2", 8000_B);
  Fluid::order(first, second, 7_us);
  submit(first);
  submit(second);

  fluid_.drain();

  EXPECT_TRUE(close(second->started, 27_us));
  EXPECT_TRUE(close(second->finished, 47_us));
}

// Of 20 + 7 and 12.5 + 20 the later counts.
TEST_F(FluidTimeline, AllDependenciesMustBeMet) {
  const auto one = copy("gpu0", "gpu1", 8000_B);
  const auto other = copy("gpu1", "gpu0", 2000_B);
  const auto last = copy("gpu1", "gpu2", 8000_B);
  Fluid::order(one, last, 7_us);
  Fluid::order(other, last, 20_us);
  submit(one), submit(other), submit(last);

  fluid_.drain();

  EXPECT_TRUE(close(last->started, 32.5_us));
}

// The first ended at 20: with 7 after it the second starts at 27, and at once if that is over.
TEST_F(FluidTimeline, WhatIsLongOverDelaysNothing) {
  const auto first = submit(copy("gpu0", "gpu1", 8000_B));
  fluid_.advance_to(22_us);
  const auto soon = copy("gpu1", "gpu2", 8000_B, 22_us);
  const auto later = copy("gpu1", "gpu0", 8000_B, 50_us);
  Fluid::order(first, soon, 7_us);
  Fluid::order(first, later, 7_us);
  Fluid::order(nullptr, later, 7_us);
  submit(soon), submit(later);

  fluid_.drain();

  EXPECT_TRUE(close(soon->started, 27_us));
  EXPECT_TRUE(close(later->started, 50_us));
}

TEST_F(FluidTimeline, WhatIsNoCopyTakesNoTime) {
  auto marker = std::make_shared<Activity>();
  const auto first = copy("gpu0", "gpu1", 8000_B);
  Fluid::order(first, marker, {});
  submit(first), submit(marker);

  fluid_.drain();

  EXPECT_TRUE(close(marker->finished, 20_us));
}

TEST_F(FluidTimeline, TheEndIsTold) {
  auto first = copy("gpu0", "gpu1", 8000_B);
  Seconds told;
  first->on_done = [&](const Activity& activity) { told = activity.finished; };
  submit(first);

  fluid_.drain();

  EXPECT_TRUE(close(told, 20_us));
}

// --- the clock ---

TEST_F(FluidTimeline, TimePassesNoFurtherThanAskedFor) {
  const auto only = submit(copy("gpu0", "gpu1", 8000_B));

  fluid_.advance_to(19_us);
  EXPECT_FALSE(only->done);
  EXPECT_TRUE(close(fluid_.now(), 19_us));

  fluid_.advance_to(30_us);
  EXPECT_TRUE(only->done);
  EXPECT_TRUE(close(only->finished, 20_us));
  EXPECT_TRUE(close(fluid_.now(), 30_us));
}

TEST_F(FluidTimeline, OneCanBeWaitedForWithoutTheOthers) {
  const auto quick = submit(copy("gpu0", "gpu1", 8000_B));
  const auto slow = submit(copy("gpu1", "gpu0", 80000_B));

  EXPECT_TRUE(fluid_.play_until(*quick));

  EXPECT_TRUE(close(quick->finished, 20_us));
  EXPECT_FALSE(slow->done);
}

TEST_F(FluidTimeline, WaitingForWhatCannotEndIsInVain) {
  const auto never = copy("gpu0", "gpu1", 8000_B);
  Fluid::order(copy("gpu0", "gpu1", 8000_B), never, {});
  submit(never);

  EXPECT_FALSE(fluid_.play_until(*never));
}

// Days later a clock in seconds counts in steps of 1e-11, in which a fast link moves a dozen bytes.
TEST_F(FluidTimeline, EndsHoweverLateItIs) {
  for (Hop& hop : machine_.hops) hop.bandwidth = {hop.bandwidth.value * 1000}, hop.uses.clear();
  const HopRates rates(machine_);
  Fluid fluid(machine_, rates);
  for (const double now : {100.0, 1e4, 1e5})
    for (int i = 0; i < 50; ++i) {
      const Seconds issued{now + 0.777 * i};
      const auto only = copy("gpu0", "gpu2", Bytes{1000003 + 7919U * unsigned(i)}, issued);

      fluid.submit(only);
      fluid.drain();

      const Seconds alone = 10_us + only->bytes / 800_GBps;
      EXPECT_NEAR(only->finished.value, (issued + alone).value, 1e-10);
    }
}

// --- any timeline ---

// Copies at random, some after others; the same from the same seed.
std::vector<Seconds> play(const Machine& machine, std::uint64_t seed) {
  Random random(seed);
  HopRates rates(machine);
  Fluid fluid(machine, rates);
  std::vector<ActivityPointer> copies;
  for (int i = 0; i < 60; ++i) {
    auto activity = std::make_shared<Activity>();
    activity->hop = {static_cast<std::int32_t>(random.index(machine.hops.size()))};
    activity->bytes = {random.between(1, 100000)};
    activity->issued = 1_us * random.integer(0, 200);
    if (!copies.empty() && random.chance(40)) Fluid::order(random.pick(copies), activity, 7_us);
    copies.push_back(activity);
  }
  for (const auto& activity : copies) fluid.submit(activity);
  fluid.drain();
  std::vector<Seconds> ends;
  for (const auto& activity : copies) {
    const Hop& hop = machine.hop(activity->hop);
    const Seconds alone = hop.latency + activity->bytes / hop.bandwidth;
    EXPECT_TRUE(activity->done);
    EXPECT_GE(activity->started, activity->issued);
    EXPECT_GE(activity->finished - activity->started, alone - Seconds{1e-12});
    ends.push_back(activity->finished);
  }
  return ends;
}

TEST(Fluid, EveryCopyEndsNoSoonerThanAloneAndAlwaysAtTheSameTime) {
  const Machine machine = hand_machine();
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto ends = play(machine, seed);

    EXPECT_EQ(play(machine, seed), ends);
  }
}

}  // namespace
}  // namespace polypath::test::fluid_test
