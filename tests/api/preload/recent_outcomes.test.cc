// What lately became of copies, told apart from others.

#include "api/preload/recent_outcomes.h"

#include <gtest/gtest.h>

namespace polypath::preload::recent_outcomes_test {
namespace {

template <class Pointer>
Pointer numbered(std::uintptr_t number) {
  return reinterpret_cast<Pointer>(number);
}

ProgramCopy copy(std::uintptr_t destination = 0x7f0000200000,
                 std::uintptr_t source = 0x7e0000400000, Bytes bytes = 64_MiB,
                 std::uintptr_t stream = 0x100) {
  return {{destination}, {source}, bytes, numbered<cuda::StreamPointer>(stream), false};
}

ProgramCopy in_stream(std::uintptr_t stream) {
  return copy(0x7f0000200000, 0x7e0000400000, 64_MiB, stream);
}

RecentOutcomes::EngineCall call() {
  CopyCall call;
  call.stream = {3};
  return {call, nullptr};
}

TEST(RecentOutcomes, KnowWhatTheyWereTold) {
  RecentOutcomes recent;
  EXPECT_FALSE(recent.find(copy()));

  recent.remember(copy(), Outcome::few_cpus);

  ASSERT_TRUE(recent.find(copy()));
  EXPECT_EQ(recent.find(copy())->outcome, Outcome::few_cpus);
  EXPECT_EQ(recent.find(copy())->call, nullptr);
}

TEST(RecentOutcomes, AreAboutThesePagesAndThisSizeInAnyStream) {
  RecentOutcomes recent;

  recent.remember(copy(), Outcome::native);

  EXPECT_TRUE(recent.find(copy(0x7f0000200010, 0x7e0000400fff)));
  EXPECT_TRUE(recent.find(in_stream(0)));
  EXPECT_FALSE(recent.find(copy(0x7f0000201000)));
  EXPECT_FALSE(recent.find(copy(0x7f0000200000, 0x7e0000401000)));
  EXPECT_FALSE(recent.find(copy(0x7f0000200000, 0x7e0000400000, 64_MiB + 1_B)));
  EXPECT_FALSE(recent.find(copy(0x7e0000400000, 0x7f0000200000)));
}

TEST(RecentOutcomes, MayEndAtATime) {
  RecentOutcomes recent;

  recent.remember_for_a_while(copy(), Outcome::preparing, 10_us, 5);

  EXPECT_EQ(recent.find(copy())->until, 10_us);
  EXPECT_EQ(recent.find(copy())->most, 5);
}

TEST(RecentOutcomes, CountHowOftenTheyWereFoundUntilTheirEnd) {
  constexpr int kMany = 200;  // more than what is remembered for ever is used
  RecentOutcomes recent;
  recent.remember_for_a_while(copy(), Outcome::preparing, 10_us, 5);

  for (int i = 1; i < kMany; ++i) (void)recent.find(copy());

  EXPECT_EQ(recent.find(copy())->found, kMany);
}

TEST(RecentOutcomes, LetTheNextCopyGoFirstUntilItIsToBeAskedAbout) {
  RecentOutcomes recent;
  const auto goes_first_at = [&](Seconds now) {
    return recent.goes_first(copy(), [now] { return now; });
  };
  EXPECT_FALSE(goes_first_at({}));

  recent.remember_for_a_while(copy(), Outcome::preparing, 10_us, 2);

  EXPECT_TRUE(goes_first_at(9_us));
  EXPECT_FALSE(goes_first_at(10_us));
  (void)recent.find(copy());
  EXPECT_FALSE(goes_first_at(9_us));
}

TEST(RecentOutcomes, LetTheNextCopyGoFirstWhereThatIsSaid) {
  RecentOutcomes recent;
  const auto goes_first = [&] { return recent.goes_first(copy(), [] { return 20_us; }); };

  recent.remember_for_a_while(copy(), Outcome::preparing, 10_us, 2, true);
  EXPECT_TRUE(goes_first());

  recent.end(copy());
  recent.remember(copy(), Outcome::native);
  EXPECT_TRUE(goes_first());

  recent.end(copy());
  recent.remember(copy(), call());
  EXPECT_FALSE(goes_first());
}

TEST(RecentOutcomes, AreOverAtTheirTimeOrWhenFoundOftenEnough) {
  RecentOutcomes recent;
  const auto is_over_at = [&](Seconds now) {
    return recent.find(copy())->is_over([now] { return now; });
  };
  recent.remember_for_a_while(copy(), Outcome::preparing, 10_us, 3);

  EXPECT_FALSE(is_over_at(5_us));
  EXPECT_TRUE(is_over_at(10_us));
  EXPECT_TRUE(is_over_at(5_us));  // the third time
}

TEST(RecentOutcomes, ThatAreForEverAreNeverOver) {
  RecentOutcomes recent;

  recent.remember(copy(), Outcome::native);

  EXPECT_FALSE(recent.find(copy())->is_over([] { return 1e9_us; }));
}

TEST(RecentOutcomes, AreForgottenAtTheirEnd) {
  RecentOutcomes recent;
  recent.remember_for_a_while(copy(), Outcome::preparing, 10_us, 5);
  recent.remember(copy(), call());

  recent.end(copy());

  ASSERT_TRUE(recent.find(copy()));
  EXPECT_NE(recent.find(copy())->call, nullptr);
}

TEST(RecentOutcomes, HaveNoEndWithoutOne) {
  RecentOutcomes recent;

  recent.remember(copy(), Outcome::reads_peer);

  EXPECT_EQ(recent.find(copy())->until, Seconds::infinity());
}

// Beside what else is in flight the stream matters.
TEST(RecentOutcomes, WhatTheEngineIsToBeAskedIsAboutThisStream) {
  RecentOutcomes recent;

  recent.remember(copy(), call());

  ASSERT_TRUE(recent.find(copy()));
  EXPECT_EQ(recent.find(copy())->call->call.stream, StreamHandle{3});
  EXPECT_FALSE(recent.find(in_stream(0x101)));
  EXPECT_FALSE(recent.find(in_stream(0)));
}

}  // namespace
}  // namespace polypath::preload::recent_outcomes_test
