// Sets like one that lately went natively go at once, and never wrongly.

#include <gmock/gmock.h>

#include <algorithm>

#include "support/asked_driver.h"
#include "support/errors.h"
#include "support/rig.h"

namespace polypath::test::recent_sets_test {
namespace {

using testing::Each;
using testing::Field;
using testing::IsEmpty;

constexpr std::size_t kSize = 4 << 20;

// An exchange between two GPUs behind a switch: native by its joint plan.
class Exchange : public testing::Test {
 protected:
  std::vector<CopyResult> copy() {
    std::vector<CopyResult> results = rig_.engine().copy_many(calls_);
    std::copy(first_.expected.begin(), first_.expected.end(), second_.expected.begin());
    std::copy(third_.expected.begin(), third_.expected.end(), fourth_.expected.begin());
    rig_.synchronize();
    return results;
  }
  /// How often it is asked while the set is copied.
  int asked_by_copying() {
    const int before = asked_.asked;
    copy();
    return asked_.asked - before;
  }

  Rig rig_{"h200x4"};
  AskedDriver& asked_ = rig_.use<AskedDriver>();
  Buffer& first_ = rig_.buffer("gpu0", kSize);
  Buffer& second_ = rig_.buffer("gpu1", kSize);
  Buffer& third_ = rig_.buffer("gpu1", kSize);
  Buffer& fourth_ = rig_.buffer("gpu0", kSize);
  std::vector<CopyCall> calls_ = {rig_.call(second_, 0, first_, 0, kSize, rig_.stream("gpu0")),
                                  rig_.call(fourth_, 0, third_, 0, kSize, rig_.stream("gpu1"))};
};

TEST_F(Exchange, IsCopiedRightAndWithoutAskingWhatTheMemoryIs) {
  copy();

  const int asked_before = asked_.asked;
  const std::vector<CopyResult> again = copy();

  EXPECT_EQ(asked_.asked, asked_before);
  EXPECT_THAT(again, Each(Field(&CopyResult::means, Method::native)));
  EXPECT_EQ(rig_.statistics().native, 4U);
  EXPECT_TRUE(rig_.intact());
  EXPECT_THAT(rig_.close(), IsEmpty());
}

TEST_F(Exchange, IsLookedAtAnewNowAndThen) {
  copy();
  int looked = 0;

  for (int round = 0; round < 200; ++round) looked += asked_by_copying() > 0;

  EXPECT_GE(looked, 2);
  EXPECT_LE(looked, 5);
}

TEST_F(Exchange, OfOtherSizesOrInAnotherOrderIsAnotherSet) {
  copy();

  std::swap(calls_[0], calls_[1]);
  EXPECT_GT(asked_by_copying(), 0);
  for (CopyCall& call : calls_) call.bytes.value -= 4096;
  EXPECT_GT(asked_by_copying(), 0);
}

// There it may run beside itself, which native copies of one stream do not.
TEST_F(Exchange, OnOneStreamIsAnotherSet) {
  copy();

  calls_[1].stream = calls_[0].stream;
  calls_[1].stream_gpu = calls_[0].stream_gpu;

  EXPECT_GT(asked_by_copying(), 0);
  EXPECT_TRUE(rig_.intact());
}

TEST_F(Exchange, OfFreedMemoryIsRefusedByNameEachTime) {
  copy();
  rig_.free(third_);

  for (int round = 0; round < 2; ++round)
    expect_invalid_argument([&] { rig_.engine().copy_many(calls_); }, "source");

  EXPECT_THAT(rig_.close(), IsEmpty());
}

TEST_F(Exchange, ThatOverlapsIsRefusedAllTheSame) {
  copy();

  calls_[0].destination.value = calls_[0].source.value + 1;

  expect_invalid_argument([&] { rig_.engine().copy_many(calls_); }, "");
}

}  // namespace
}  // namespace polypath::test::recent_sets_test
