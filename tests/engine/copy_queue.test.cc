// Copies that threads share piece by piece, without a lock.

#include "engine/pageable/copy_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "support/layers.h"

namespace polypath::test::copy_queue_test {
namespace {

constexpr Address kFrom{1 << 20}, kTo{1 << 30};

CopyQueue::Piece taken(CopyQueue& queue) {
  const auto piece = queue.take();
  if (!piece) throw std::logic_error("no piece is left");
  return *piece;
}

TEST(CopyQueue, GivesTheOldestCopyPieceByPiece) {
  CopyQueue queue;
  const auto first = queue.add({kTo, kFrom, 10_B}, 4_B);
  const auto second = queue.add({kTo + 100_B, kFrom, 3_B}, 4_B);

  std::vector<CopyQueue::Piece> pieces;
  while (const auto piece = queue.take()) pieces.push_back(*piece);

  ASSERT_EQ(pieces.size(), 4U);
  EXPECT_EQ(pieces[1].copy.source, kFrom + 4_B);
  EXPECT_EQ(pieces[1].copy.destination, kTo + 4_B);
  EXPECT_EQ(pieces[2].copy.bytes, 2_B);
  EXPECT_EQ(pieces[2].ticket, *first);
  EXPECT_EQ(pieces[3].copy.destination, kTo + 100_B);
  EXPECT_EQ(pieces[3].copy.bytes, 3_B);
  EXPECT_EQ(pieces[3].ticket, *second);
}

TEST(CopyQueue, ACopyIsDoneWithItsLastPiece) {
  CopyQueue queue;
  const auto ticket = queue.add({kTo, kFrom, 8_B}, 4_B);
  const auto one = taken(queue), other = taken(queue);

  queue.note_done(other);
  EXPECT_FALSE(queue.is_done(*ticket));
  EXPECT_FALSE(queue.is_all_done());
  queue.note_done(one);

  EXPECT_TRUE(queue.is_done(*ticket));
  EXPECT_TRUE(queue.is_all_done());
}

TEST(CopyQueue, HasUntakenPiecesUntilTheLastIsTaken) {
  CopyQueue queue;
  EXPECT_FALSE(queue.has_untaken());
  (void)queue.add({kTo, kFrom, 8_B}, 4_B);

  (void)taken(queue);
  EXPECT_TRUE(queue.has_untaken());
  (void)taken(queue);

  EXPECT_FALSE(queue.has_untaken());
  EXPECT_FALSE(queue.take());
}

TEST(CopyQueue, RefusesACopyUntilTheOldestIsDone) {
  CopyQueue queue;
  const auto oldest = queue.add({kTo, kFrom, 1_B}, 1_B);
  for (std::size_t i = 1; i < CopyQueue::kMost; ++i) ASSERT_TRUE(queue.add({kTo, kFrom, 1_B}, 1_B));

  const auto piece = taken(queue);
  EXPECT_FALSE(queue.add({kTo, kFrom, 1_B}, 1_B));
  queue.note_done(piece);

  EXPECT_TRUE(queue.add({kTo, kFrom, 1_B}, 1_B));
  EXPECT_TRUE(queue.is_done(*oldest));
}

TEST(CopyQueue, ACopyStaysDoneWhenAnotherOneHasItsPlace) {
  CopyQueue queue;
  const auto first = queue.add({kTo, kFrom, 1_B}, 1_B);
  queue.note_done(taken(queue));
  for (std::size_t i = 0; i < CopyQueue::kMost; ++i) (void)queue.add({kTo, kFrom, 1_B}, 1_B);

  EXPECT_TRUE(queue.is_done(*first));
  EXPECT_FALSE(queue.is_done(*first + 1));
}

// Each byte of each copy is counted: a piece that is taken twice, or of another copy, shows.
TEST(CopyQueue, ThreadsTakeEachPieceOnce) {
  constexpr std::size_t kCopies = 2000, kBytes = 37;
  CopyQueue queue;
  std::vector<std::atomic<int>> counts(kCopies * kBytes);
  std::atomic<bool> ending{false};
  const auto work = [&] {
    while (!ending || queue.has_untaken())
      if (const auto piece = queue.take()) {
        EXPECT_EQ(piece->copy.source.value - piece->copy.destination.value, piece->ticket);
        for (std::size_t i = 0; i < piece->copy.bytes.value; ++i)
          ++counts[piece->copy.destination.value - 1 + i];
        queue.note_done(*piece);
      } else {
        std::this_thread::yield();
      }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(work);

  for (std::size_t copy = 0; copy < kCopies; ++copy) {
    const Address to{copy * kBytes + 1};
    while (!queue.add({to, {to.value + copy}, {kBytes}}, 4_B)) std::this_thread::yield();
  }
  ending = true;
  threads.clear();

  for (const auto& count : counts) ASSERT_EQ(count, 1);
}

}  // namespace
}  // namespace polypath::test::copy_queue_test
