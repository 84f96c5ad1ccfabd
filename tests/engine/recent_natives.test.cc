// Copies like one that lately went natively go at once, and never wrongly.

#include "engine/decide/recent_natives.h"

#include <gmock/gmock.h>

#include "machine/load_machine.h"
#include "support/asked_driver.h"
#include "support/errors.h"
#include "support/rig.h"

namespace polypath::test::recent_natives_test {
namespace {

using testing::IsEmpty;

constexpr std::size_t kSmall = 4096, kPlanned = 2 << 20;

CopyCall call_of(std::uintptr_t destination, std::uintptr_t source, Bytes bytes) {
  return {.destination = {destination},
          .source = {source},
          .bytes = bytes,
          .stream = {1},
          .stream_gpu = {0}};
}

Decision native(const CopyCall& call, PlanPointer plan = nullptr) {
  return {
      .call = call, .native_threshold = 1_MiB, .means = Method::native, .plan = std::move(plan)};
}

TEST(RecentNatives, KnowCopiesBetweenTheSamePages) {
  RecentNatives recent(1_MiB);
  const auto plan = std::make_shared<Plan>();

  recent.remember(native(call_of(0x10000, 0x90000, 2_MiB), plan));

  ASSERT_NE(recent.find(call_of(0x10008, 0x90010, 2_MiB)), nullptr);
  EXPECT_EQ(recent.find(call_of(0x10008, 0x90010, 2_MiB))->plan, plan);
  EXPECT_EQ(recent.find(call_of(0x10000, 0x90000, 3_MiB)), nullptr);
  EXPECT_EQ(recent.find(call_of(0x11000, 0x90000, 2_MiB)), nullptr);
  EXPECT_EQ(recent.find(call_of(0x90000, 0x10000, 2_MiB)), nullptr);
}

TEST(RecentNatives, SizesTooSmallToPlanAreAlike) {
  RecentNatives recent(1_MiB);

  recent.remember(native(call_of(0x10000, 0x90000, 8_B)));

  EXPECT_NE(recent.find(call_of(0x10000, 0x90000, 64_KiB)), nullptr);
  EXPECT_EQ(recent.find(call_of(0x10000, 0x90000, 1_MiB)), nullptr);
}

// Between other places several paths begin to pay elsewhere.
TEST(RecentNatives, HowSmallThatIsWasFoundOut) {
  RecentNatives recent(2_MiB);
  const CopyCall small = call_of(0x10000, 0x90000, 8_B);
  Decision decision = native(small);
  decision.native_threshold = 300_KiB;

  recent.remember(decision);

  EXPECT_NE(recent.find(call_of(0x10000, 0x90000, 300_KiB - 1_B)), nullptr);
  EXPECT_EQ(recent.find(call_of(0x10000, 0x90000, 300_KiB)), nullptr);
}

TEST(RecentNatives, SizesThatAreSmallElsewhereAreKnownByThemselves) {
  RecentNatives recent(2_MiB);
  const CopyCall call = call_of(0x10000, 0x90000, 512_KiB);
  Decision decision = native(call, std::make_shared<Plan>());
  decision.native_threshold = 300_KiB;

  recent.remember(decision);

  EXPECT_NE(recent.find(call), nullptr);
  EXPECT_EQ(recent.find(call_of(0x10000, 0x90000, 513_KiB)), nullptr);
  recent.forget(call);
  EXPECT_EQ(recent.find(call), nullptr);
}

TEST(RecentNatives, CopiesWithOptionsOfTheirOwnAreNotKnown) {
  RecentNatives recent(1_MiB);
  CopyCall call = call_of(0x10000, 0x90000, 2_MiB);
  recent.remember(native(call));
  call.options.shares = {{"direct", 1.0}};

  EXPECT_EQ(recent.find(call), nullptr);
}

TEST(RecentNatives, AnotherExecutorIsAnotherCopy) {
  RecentNatives recent(1_MiB);
  CopyCall call = call_of(0x10000, 0x90000, 2_MiB);
  call.options.executor = Executor::stream;
  recent.remember(native(call, std::make_shared<Plan>()));

  EXPECT_NE(recent.find(call), nullptr);
  call.options.executor = std::nullopt;
  EXPECT_EQ(recent.find(call), nullptr);
}

TEST(RecentNatives, CopiesBesideOthersAreNotKnownUnlessTheyStayNative) {
  RecentNatives recent(1_MiB);
  const CopyCall call = call_of(0x10000, 0x90000, 2_MiB);
  Decision beside = native(call, std::make_shared<Plan>());
  beside.contention.load.emplace_back();

  recent.remember(beside);
  const bool known = recent.find(call) != nullptr;
  beside.stays_native = true;
  recent.remember(beside);

  EXPECT_FALSE(known);
  ASSERT_NE(recent.find(call), nullptr);
  EXPECT_TRUE(recent.find(call)->always);
}

// By turns alone and beside one that goes the other way, it is known in both.
TEST(RecentNatives, BothCircumstancesAreKept) {
  RecentNatives recent(1_MiB);
  const CopyCall call = call_of(0x10000, 0x90000, 2_MiB);
  Decision decision = native(call, std::make_shared<Plan>());

  recent.remember(decision);
  decision.contention.both_ways = BothWays::by_threads;
  for (int round = 0; round < 6; ++round) recent.remember(decision);

  const RecentNatives::Known* known = recent.find(call);
  ASSERT_NE(known, nullptr);
  EXPECT_TRUE(known->alone);
  EXPECT_EQ(known->both_ways, BothWays::by_threads);
}

// It may get its part of a joint plan once it is known.
TEST(RecentNatives, AnExchangeIsNotKeptBeforeItCouldBeKnown) {
  RecentNatives recent(1_MiB);
  const CopyCall call = call_of(0x10000, 0x90000, 2_MiB);
  Decision decision = native(call, std::make_shared<Plan>());
  decision.contention.both_ways = BothWays::by_threads;

  recent.remember(decision);

  const RecentNatives::Known* known = recent.find(call);
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->both_ways, BothWays::no);
}

// By the joint plan of both.
TEST(RecentNatives, AKnownExchangeIsKeptAtOnce) {
  RecentNatives recent(1_MiB);
  const CopyCall call = call_of(0x10000, 0x90000, 2_MiB);
  Decision decision = native(call, std::make_shared<Plan>());
  decision.contention.both_ways = BothWays::by_threads;
  decision.contention.set.transfers = {{{0}, {1}, 2_MiB}, {{1}, {0}, 2_MiB}};
  decision.planned_for = PlannedFor::recurring_set;

  recent.remember(decision);

  const RecentNatives::Known* known = recent.find(call);
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->both_ways, BothWays::by_threads);
}

// --- copies that are left to the caller ---

// Two GPUs of h200x4, between which one copy gains by several paths and two that meet do not.
class LeftCopies : public testing::Test {
 protected:
  LeftCopies() {
    call_ = rig_.call(there_, 0, here_, 0, kSize, rig_.stream("gpu0"));
    back_ = rig_.call(here_again_, 0, there_again_, 0, kSize, rig_.stream("gpu1"));
  }
  // True if it is left to the caller.
  bool is_left(const CopyCall& call) {
    Engine& engine = rig_.engine();
    return engine.enqueue_or_leave(engine.decide(call)).means == Method::native;
  }
  // What the caller does itself, and the engine does not see.
  void copy_natively(const CopyCall& call) {
    const bool back = call.stream == back_.stream;
    rig_.driver().copy_native({call.destination,
                               call.source,
                               call.bytes,
                               {},
                               PlaceId{back ? 0 : 1},
                               PlaceId{back ? 1 : 0}},
                              call.stream);
  }
  // Both at once, each by the caller where it is left.
  void exchange() {
    for (const CopyCall* call : {&call_, &back_})
      if (is_left(*call)) copy_natively(*call);
    rig_.synchronize();
  }

  static constexpr std::size_t kSize = 64 << 20;
  Rig rig_{"h200x4"};
  Buffer& here_ = rig_.buffer("gpu0", kSize);
  Buffer& there_ = rig_.buffer("gpu1", kSize);
  Buffer& here_again_ = rig_.buffer("gpu0", kSize);
  Buffer& there_again_ = rig_.buffer("gpu1", kSize);
  CopyCall call_, back_;
};

TEST_F(LeftCopies, AreRecalledIfTheyAreKnown) {
  EXPECT_FALSE(rig_.engine().recall(call_));
  for (int i = 0; i < 4; ++i) exchange();
  const std::uint64_t before = rig_.statistics().native;

  const auto decision = rig_.engine().recall(call_);
  ASSERT_TRUE(decision);
  const CopyResult left = rig_.engine().enqueue_or_leave(*decision);

  EXPECT_EQ(left.means, Method::native);
  EXPECT_EQ(rig_.statistics().native, before + 1);
}

// To decide is not to do.
TEST_F(LeftCopies, AreNotCountedBeforeTheyAreEnqueued) {
  const std::uint64_t before = rig_.statistics().transfers;

  const Decision decision = rig_.engine().decide(call_);
  const std::uint64_t decided = rig_.statistics().transfers;
  const CopyResult done = rig_.engine().enqueue(decision);
  rig_.synchronize();

  EXPECT_EQ(decision.means, Method::paths);
  EXPECT_EQ(decided, before);
  EXPECT_EQ(done.means, Method::paths);
  EXPECT_EQ(done.plan, decision.plan);
  EXPECT_EQ(rig_.statistics().transfers, before + 1);
}

TEST_F(LeftCopies, AreLookedAtWhereTheyMeetNobodyAnyMore) {
  for (int i = 0; i < 4; ++i) exchange();

  int left = 0;
  while (left < 100 && is_left(call_)) {
    copy_natively(call_);
    rig_.synchronize();
    ++left;
  }

  EXPECT_LT(left, 10);
}

TEST(KnownEnds, AreNotAskedFor) {
  Rig rig("beluga");
  auto& asked = rig.use<AskedDriver>();
  Buffer& source = rig.buffer("gpu0", kPlanned);
  Buffer& destination = rig.buffer("gpu1", kPlanned);
  CopyCall call = rig.call(destination, 0, source, 0, kPlanned, rig.stream("gpu0"));
  const CopyEnds ends{.destination = destination.place, .source = source.place};

  rig.engine().enqueue(rig.engine().decide(call, ends));
  call.destination = call.source;
  const auto copy_onto_itself = [&] { (void)rig.engine().decide(call, ends); };

  EXPECT_EQ(asked.asked, 0);
  expect_invalid_argument(copy_onto_itself, "overlap");
}

class RecentSizes : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, RecentSizes, testing::Values(kSmall, kPlanned));

// On h200x4 a copy of 2 MiB between GPUs is planned, as one native copy.
TEST_P(RecentSizes, AreCopiedRightAndWithoutAskingWhatTheMemoryIs) {
  Rig rig("h200x4");
  auto& asked = rig.use<AskedDriver>();
  Buffer& source = rig.buffer("gpu0", GetParam());
  Buffer& destination = rig.buffer("gpu1", GetParam());
  const StreamHandle stream = rig.stream("gpu0");
  rig.copy(destination, source, stream);
  rig.synchronize();
  const int asked_at_first = asked.asked;

  const CopyResult again = rig.copy(destination, source, stream);

  EXPECT_EQ(again.executor, Executor::native);
  EXPECT_EQ(asked.asked, asked_at_first);
  EXPECT_EQ(rig.statistics().native, 2U);
  EXPECT_TRUE(rig.intact());
  EXPECT_THAT(rig.close(), IsEmpty());
}

TEST_P(RecentSizes, FreedMemoryIsRefusedByName) {
  Rig rig("h200x4");
  Buffer& source = rig.buffer("gpu0", GetParam());
  Buffer& destination = rig.buffer("gpu1", GetParam());
  const StreamHandle stream = rig.stream("gpu0");
  rig.copy(destination, source, stream);
  rig.synchronize();
  const CopyCall call = rig.call(destination, 0, source, 0, GetParam(), stream);
  rig.free(source);

  const auto copy_again = [&] { rig.engine().copy(call); };

  expect_invalid_argument(copy_again, "source");
  EXPECT_TRUE(rig.intact());
  EXPECT_THAT(rig.close(), IsEmpty());
}

TEST_P(RecentSizes, OverlappingRangesAreRefusedAllTheSame) {
  Rig rig("h200x4");
  Buffer& memory = rig.buffer("gpu0", 2 * GetParam());
  const StreamHandle stream = rig.stream("gpu0");
  const CopyCall apart = rig.call(memory, GetParam(), memory, 0, GetParam(), stream);
  rig.copy(memory, GetParam(), memory, 0, GetParam(), stream);
  CopyCall overlapping = apart;
  overlapping.destination.value -= 1;

  const auto copy = [&] { rig.engine().copy(overlapping); };

  expect_invalid_argument(copy, "overlap");
}

// Copies that last for 180 us on beluga, by its one direct path.
class LongRecentCopies : public testing::Test {
 protected:
  static constexpr std::size_t kLong = 8 << 20;

  static Settings direct_only() {
    Settings settings;
    settings.include = {"direct"};
    return settings;
  }
  // How often the driver is asked about memory by one more copy.
  int questions_of_copy(const StreamHandle stream) {
    const int before = asked_.asked;
    rig_.copy(destination_, source_, stream);
    return asked_.asked - before;
  }

  Rig rig_{"beluga", direct_only()};
  AskedDriver& asked_ = rig_.use<AskedDriver>();
  Buffer& source_ = rig_.buffer("gpu0", kLong);
  Buffer& destination_ = rig_.buffer("gpu1", kLong);
  StreamHandle stream_ = rig_.stream("gpu0"), other_ = rig_.stream("gpu1");

  void SetUp() override {
    ASSERT_GT(questions_of_copy(stream_), 0);
    rig_.synchronize();
  }
  void TearDown() override {
    EXPECT_TRUE(rig_.intact());
    EXPECT_THAT(rig_.close(), IsEmpty());
  }
};

TEST_F(LongRecentCopies, AreNotLookedAtOnAnIdleMachine) {
  EXPECT_EQ(questions_of_copy(stream_), 0);
}

TEST_F(LongRecentCopies, ArePlannedAnewBesideOthers) {
  rig_.copy(rig_.buffer("gpu0", kLong), rig_.buffer("gpu1", kLong), other_);

  EXPECT_GT(questions_of_copy(stream_), 0);
}

}  // namespace
}  // namespace polypath::test::recent_natives_test
