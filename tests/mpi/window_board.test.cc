// What the ranks of a window share: parts and locks.

#include "mpi/window_board.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "core/error.h"
#include "support/layers.h"

namespace polypath::test::window_board_test {
namespace {

using mpi::RankLock;
using mpi::WindowBoard;
using mpi::WindowPart;

constexpr auto kShared = RankLock::Mode::shared;
constexpr auto kExclusive = RankLock::Mode::exclusive;

TEST(RankLock, IsForOneRankOrForSeveralTogether) {
  RankLock lock;

  EXPECT_TRUE(lock.try_lock(0, kShared));
  EXPECT_TRUE(lock.try_lock(15, kShared));
  EXPECT_FALSE(lock.try_lock(2, kExclusive));
  lock.unlock(0);
  EXPECT_FALSE(lock.try_lock(2, kExclusive));
  lock.unlock(15);
  EXPECT_TRUE(lock.try_lock(2, kExclusive));
  EXPECT_FALSE(lock.try_lock(0, kShared));
  EXPECT_FALSE(lock.try_lock(2, kExclusive));
  lock.unlock(2);
  EXPECT_TRUE(lock.try_lock(0, kShared));
}

TEST(RankLock, SaysWhichRanksHaveIt) {
  RankLock shared, exclusive;

  EXPECT_TRUE(shared.try_lock(0, kShared) && shared.try_lock(3, kShared));
  EXPECT_TRUE(exclusive.try_lock(2, kExclusive));

  EXPECT_EQ(shared.holders(), 0b1001U);
  EXPECT_EQ(exclusive.holders(), 0b100U);
}

/// Two ranks of a window, in one process.
class Board : public testing::Test {
 protected:
  Board()
      : first_(SharedPages::make(WindowBoard::bytes()), 0),
        second_(SharedPages::open(first_.name()), 1) {}

  WindowBoard first_, second_;
};

TEST_F(Board, FindsThePartThatHasAllBytes) {
  first_.publish({.begin = 1000, .bytes = 100}, ExportedMemory(8, std::byte{7}));
  first_.publish({.begin = 5000, .bytes = 50}, ExportedMemory(16, std::byte{9}));

  const auto found = second_.part(0, {5010}, 40);

  ASSERT_TRUE(found);
  EXPECT_EQ(found->begin, 5000U);
  EXPECT_EQ(found->exported_bytes, 16U);
  EXPECT_EQ(found->exported[15], std::byte{9});
  EXPECT_FALSE(second_.part(0, {5010}, 41));
  EXPECT_FALSE(second_.part(0, {999}, 2));
  EXPECT_FALSE(second_.part(1, {1000}, 1));
}

TEST_F(Board, TellsPartsOfTheSameMemoryApart) {
  first_.publish({.begin = 1000, .bytes = 100}, {});
  const auto before = second_.part(0, {1000}, 100);

  EXPECT_TRUE(first_.withdraw({1000}));
  EXPECT_FALSE(second_.part(0, {1000}, 100));
  EXPECT_FALSE(first_.withdraw({1000}));
  first_.publish({.begin = 1000, .bytes = 100}, {});
  const auto after = second_.part(0, {1000}, 100);

  ASSERT_TRUE(before && after);
  EXPECT_NE(before->edition, after->edition);
}

TEST_F(Board, FindsPartsWholeOrNotAtAllWhileTheyChange) {
  constexpr std::uint64_t kTimes = 5000;
  std::jthread writer([&] {
    for (std::uint64_t time = 1; time <= kTimes; ++time) {
      first_.publish({.begin = 1000, .bytes = time, .gpus = time},
                     ExportedMemory(time % 2 == 0 ? 8 : 16, std::byte{3}));
      if (time < kTimes) EXPECT_TRUE(first_.withdraw({1000}));
    }
  });

  for (std::uint64_t latest = 0; latest < kTimes;) {
    const auto found = second_.part(0, {1000}, 1);
    if (!found) continue;
    ASSERT_EQ(found->gpus, found->bytes);
    ASSERT_EQ(found->exported_bytes, found->bytes % 2 == 0 ? 8U : 16U);
    latest = found->bytes;
  }
}

TEST_F(Board, RefusesMorePartsThanItHasRoomFor) {
  const auto publish_many = [&] {
    for (std::uintptr_t each = 0; each < 1000; ++each) first_.publish({.begin = each}, {});
  };

  EXPECT_THROW(publish_many(), Error);
}

TEST_F(Board, WaitsForALockUntilItIsGivenBack) {
  int waits = 0;
  ASSERT_TRUE(second_.passive(0).try_lock(1, kExclusive));

  first_.lock(first_.passive(0), kExclusive, [&] {
    if (++waits == 3) second_.passive(0).unlock(1);
  });

  EXPECT_EQ(waits, 3);
  EXPECT_EQ(first_.passive(0).holders(), 1U);
}

TEST_F(Board, SaysThatARankHasEndedWithALock) {
  const pid_t child = fork();
  if (child == 0) {
    const WindowBoard third(SharedPages::open(first_.name()), 2);
    _exit(third.passive(0).try_lock(2, kExclusive) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);

  EXPECT_THROW(first_.lock(first_.passive(0), kShared, [] {}), Error);
}

}  // namespace
}  // namespace polypath::test::window_board_test
