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

  familiar.remember(call_of(0x10000, 0x90000, 2_MiB), plan, false);

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

// Beside a copy on another stream the next one is planned for what is left.
TEST(FamiliarCopies, ArePlannedAnewBesideOthers) {
  Rig rig("beluga");
  AskedDriver asked(rig.driver());
  rig.use(asked);
  Buffer& source = rig.buffer("gpu0", kPlanned);
  Buffer& destination = rig.buffer("gpu1", kPlanned);
  Buffer& other_source = rig.buffer("gpu2", kPlanned);
  Buffer& other_destination = rig.buffer("gpu3", kPlanned);
  const StreamHandle stream = rig.stream("gpu0"), other = rig.stream("gpu2");
  PlanOptions native;
  native.executor = ExecutorChoice::native;
  rig.copy(destination, source, stream);
  rig.synchronize();
  rig.copy(other_destination, other_source, other, native);
  const int asked_before = asked.asked;

  rig.copy(destination, source, stream);

  EXPECT_GT(asked.asked, asked_before);
  EXPECT_TRUE(rig.intact());
  EXPECT_THAT(rig.close(), IsEmpty());
}

}  // namespace
}  // namespace polypath::test
