// Copies like one that lately went natively go at once, and never wrongly.

#include "engine/familiar.h"

#include <gmock/gmock.h>

#include "machine/library.h"
#include "support/errors.h"
#include "support/forwarding_driver.h"
#include "support/rig.h"

namespace polypath::test {
namespace {

using testing::IsEmpty;

constexpr std::size_t kSmall = 4096, kPlanned = 2 << 20;

CopyCall call_of(std::uintptr_t destination, std::uintptr_t source, Bytes bytes) {
  return {{destination}, {source}, bytes, {1}, {0}, {}};
}

TEST(FamiliarCopies, KnowsCopiesBetweenTheSamePages) {
  FamiliarCopies familiar(1_MiB);
  const auto plan = std::make_shared<Plan>();

  familiar.remember(call_of(0x10000, 0x90000, 2_MiB), plan, BothWays::no);

  ASSERT_NE(familiar.find(call_of(0x10008, 0x90010, 2_MiB)), nullptr);
  EXPECT_EQ(familiar.find(call_of(0x10008, 0x90010, 2_MiB))->plan, plan);
  EXPECT_EQ(familiar.find(call_of(0x10000, 0x90000, 3_MiB)), nullptr);
  EXPECT_EQ(familiar.find(call_of(0x11000, 0x90000, 2_MiB)), nullptr);
  EXPECT_EQ(familiar.find(call_of(0x90000, 0x10000, 2_MiB)), nullptr);
}

TEST(FamiliarCopies, SizesTooSmallToPlanAreAlike) {
  FamiliarCopies familiar(1_MiB);

  familiar.remember_small(call_of(0x10000, 0x90000, 8_B), false);

  EXPECT_NE(familiar.find(call_of(0x10000, 0x90000, 64_KiB)), nullptr);
  EXPECT_EQ(familiar.find(call_of(0x10000, 0x90000, 1_MiB)), nullptr);
}

TEST(FamiliarCopies, AreLookedAtAgainAfterSomeUses) {
  FamiliarCopies familiar(1_MiB);
  const CopyCall call = call_of(0x10000, 0x90000, 8_B);
  familiar.remember_small(call, false);

  int uses = 0;
  while (familiar.find(call) != nullptr) ++uses;

  EXPECT_EQ(uses, FamiliarCopies::kUses);
}

TEST(FamiliarCopies, OptionsOfTheCallersOwnAreNeverFamiliar) {
  FamiliarCopies familiar(1_MiB);
  CopyCall call = call_of(0x10000, 0x90000, 2_MiB);
  familiar.remember_small(call, false);
  call.options.shares = {{"direct", 1.0}};

  EXPECT_EQ(familiar.find(call), nullptr);
}

TEST(FamiliarCopies, AnotherExecutorIsAnotherCopy) {
  FamiliarCopies familiar(1_MiB);
  CopyCall call = call_of(0x10000, 0x90000, 2_MiB);
  call.options.executor = ExecutorChoice::stream;
  familiar.remember(call, std::make_shared<Plan>(), BothWays::no);

  EXPECT_NE(familiar.find(call), nullptr);
  call.options.executor = ExecutorChoice::automatic;
  EXPECT_EQ(familiar.find(call), nullptr);
}

// --- copies that are left to the caller ---

// Two GPUs of h200x4, between which one copy gains by several paths and two that meet do not.
class LeftCopies : public testing::Test {
 protected:
  LeftCopies() {
    call_ = left(rig_.call(there_, 0, here_, 0, kSize, rig_.stream("gpu0")));
    back_ = left(rig_.call(here_again_, 0, there_again_, 0, kSize, rig_.stream("gpu1")));
  }
  static CopyCall left(CopyCall call) {
    call.native_by_caller = true;
    return call;
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
      if (rig_.engine().copy(*call).left_to_caller) copy_natively(*call);
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

TEST_F(LeftCopies, AreLeftAgainIfTheyAreKnown) {
  EXPECT_FALSE(rig_.engine().leaves_again(call_));
  for (int i = 0; i < 4; ++i) exchange();
  const std::uint64_t before = rig_.statistics().native;

  EXPECT_TRUE(rig_.engine().leaves_again(call_));
  EXPECT_TRUE(rig_.engine().leaves_again(back_));
  EXPECT_EQ(rig_.statistics().native, before + 2);
}

TEST_F(LeftCopies, AreOnlyThoseThatTheCallerMakes) {
  for (int i = 0; i < 4; ++i) exchange();
  call_.native_by_caller = false;

  EXPECT_FALSE(rig_.engine().leaves_again(call_));
}

TEST_F(LeftCopies, AreLookedAtWhereTheyMeetNobodyAnyMore) {
  for (int i = 0; i < 4; ++i) exchange();

  int left = 0;
  while (left < 100 && rig_.engine().copy(call_).left_to_caller) {
    copy_natively(call_);
    rig_.synchronize();
    ++left;
  }

  EXPECT_LT(left, 10);
}

// Counts how often it is asked what memory is.
class AskedDriver : public ForwardingDriver {
 public:
  using ForwardingDriver::ForwardingDriver;
  std::optional<MemoryInfo> find_memory(Address address) override {
    ++asked;
    return ForwardingDriver::find_memory(address);
  }
  int asked = 0;
};

TEST(KnownEnds, AreNotAskedFor) {
  Rig rig("beluga");
  AskedDriver asked(rig.driver());
  rig.use(asked);
  Buffer& source = rig.buffer("gpu0", kPlanned);
  Buffer& destination = rig.buffer("gpu1", kPlanned);
  CopyCall call = rig.call(destination, 0, source, 0, kPlanned, rig.stream("gpu0"));
  call.ends = CopyEnds{source.place, destination.place};

  rig.engine().copy(call);
  call.destination = call.source;
  const auto copy_onto_itself = [&] { rig.engine().copy(call); };

  EXPECT_EQ(asked.asked, 0);
  expect_invalid_argument(copy_onto_itself, "overlap");
}

class FamiliarSizes : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, FamiliarSizes, testing::Values(kSmall, kPlanned));

// On h200x4 a copy of 2 MiB between GPUs is planned, as one native copy.
TEST_P(FamiliarSizes, AreCopiedRightAndWithoutAskingWhatTheMemoryIs) {
  Rig rig("h200x4");
  AskedDriver asked(rig.driver());
  rig.use(asked);
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

TEST_P(FamiliarSizes, FreedMemoryIsRefusedByName) {
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

TEST_P(FamiliarSizes, OverlappingRangesAreRefusedAllTheSame) {
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
class LongFamiliarCopies : public testing::Test {
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
  AskedDriver asked_{rig_.driver()};
  Buffer& source_ = rig_.buffer("gpu0", kLong);
  Buffer& destination_ = rig_.buffer("gpu1", kLong);
  StreamHandle stream_ = rig_.stream("gpu0"), other_ = rig_.stream("gpu1");

  void SetUp() override {
    rig_.use(asked_);
    ASSERT_GT(questions_of_copy(stream_), 0);
    rig_.synchronize();
  }
  void TearDown() override {
    EXPECT_TRUE(rig_.intact());
    EXPECT_THAT(rig_.close(), IsEmpty());
  }
};

TEST_F(LongFamiliarCopies, AreNotLookedAtOnAnIdleMachine) {
  EXPECT_EQ(questions_of_copy(stream_), 0);
}

TEST_F(LongFamiliarCopies, ArePlannedAnewBesideOthers) {
  rig_.copy(rig_.buffer("gpu0", kLong), rig_.buffer("gpu1", kLong), other_);

  EXPECT_GT(questions_of_copy(stream_), 0);
}

}  // namespace
}  // namespace polypath::test
