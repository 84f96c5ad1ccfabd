// All ranks begin the calls of several communicators in one order, though each makes them in an
// order of its own.

#include "mpi/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "support/layers.h"

namespace polypath::test::turns_test {
namespace {

using mpi::Announcements;
using mpi::Arena;
using mpi::Buffers;
using mpi::Turn;
using mpi::Turns;

constexpr int kRanks = 4, kCommunicators = 3, kCalls = 1500;  // of each communicator

// Communicator c: all ranks, or all but one.
bool has_rank(int communicator, int rank) { return communicator == 0 || rank != communicator; }

int seat_of(int communicator, int rank) {
  int seat = 0;
  for (int other = 0; other < rank; ++other) seat += has_rank(communicator, other) ? 1 : 0;
  return seat;
}

// Some calls are not ours, by the announcement of one rank.
Buffers passed(int communicator, int call, int rank) {
  std::mt19937 random(static_cast<unsigned>(call * 64 + communicator));
  const bool is_mixed = random() % 5 == 0;
  return is_mixed && seat_of(communicator, rank) == 0 ? Buffers::host : Buffers::ours;
}

struct Begun {
  int communicator, call;
  auto operator<=>(const Begun&) const = default;
};

// One rank: makes calls in an order of its own, several at a time, and notes how they begin.
class Rank {
 public:
  Rank(const Arena& arena, const std::vector<int>& blocks, int rank) : rank_(rank) {
    for (int each = 0; each < kCommunicators; ++each)
      announcements_.push_back(std::make_unique<Announcements>(
          arena, arena.block(blocks[static_cast<std::size_t>(each)]), seat_of(each, rank),
          each == 0 ? kRanks : kRanks - 1));
  }

  void run() {
    std::mt19937 random(static_cast<unsigned>(rank_));
    std::vector<int> made(kCommunicators);
    for (;;) {
      std::vector<int> open;
      for (int each = 0; each < kCommunicators; ++each)
        if (has_rank(each, rank_) && made[static_cast<std::size_t>(each)] < kCalls)
          open.push_back(each);
      if (open.empty()) break;
      const int next = open[random() % open.size()];
      make(next, made[static_cast<std::size_t>(next)]++);
      if (random() % 3 == 0) turns_.go_on_by_itself();
      if (random() % 4 == 0) look();
    }
  }
  void finish() {
    while (!running_.empty()) look();
  }
  [[nodiscard]] const std::vector<Begun>& begun() const { return begun_; }

 private:
  void make(int communicator, int call) {
    Announcements& own = *announcements_[static_cast<std::size_t>(communicator)];
    const Buffers buffers = passed(communicator, call, rank_);
    own.make_room([this] { turns_.go_on(); });
    if (!is_asked(buffers)) {
      own.announce(buffers);
      return;
    }
    Turn& turn = *running_.emplace_back(std::make_unique<Turn>());
    turn.announcements = &own;
    turn.begin = [this, communicator, call] {
      begun_.push_back({communicator, call});
      return true;
    };
    turns_.announce(turn, buffers);
  }
  // As a program that tests its requests now and then. One that waited for a call could wait for
  // ever, since the others make theirs in other orders.
  void look() {
    constexpr int kLooks = 64;
    for (int i = 0; i < kLooks; ++i) turns_.go_on();
    std::this_thread::yield();
    std::erase_if(running_, [](const auto& turn) { return turn->state != Turn::State::waiting; });
  }

  int rank_;
  std::vector<std::unique_ptr<Announcements>> announcements_;
  std::deque<std::unique_ptr<Turn>> running_;
  std::vector<Begun> begun_;
  Turns turns_;  // its thread ends before what it uses
};

// The calls of both, in the order in which one begins them.
std::vector<Begun> common(const Rank& rank, int other) {
  std::vector<Begun> calls;
  for (const Begun& each : rank.begun())
    if (has_rank(each.communicator, other)) calls.push_back(each);
  return calls;
}

TEST(Turns, AreTheSameAtAllRanks) {
  Arena arena = Arena::make();
  std::vector<int> blocks;
  for (int each = 0; each < kCommunicators; ++each) blocks.push_back(arena.take());
  std::vector<std::unique_ptr<Rank>> ranks;
  for (int rank = 0; rank < kRanks; ++rank)
    ranks.push_back(std::make_unique<Rank>(arena, blocks, rank));

  std::vector<std::jthread> threads;
  for (auto& rank : ranks)
    threads.emplace_back([&rank] {
      rank->run();
      rank->finish();
    });
  threads.clear();

  EXPECT_GT(ranks[0]->begun().size(), std::size_t{kCalls});
  for (int a = 0; a < kRanks; ++a)
    for (int b = a + 1; b < kRanks; ++b)
      EXPECT_EQ(common(*ranks[static_cast<std::size_t>(a)], b),
                common(*ranks[static_cast<std::size_t>(b)], a));
}

TEST(Turns, GoOnWhileTheProgramDoesSomethingElse) {
  Arena arena = Arena::make();
  const int block = arena.take();
  Announcements here(arena, arena.block(block), 0, 2), there(arena, arena.block(block), 1, 2);
  Turn turn;
  turn.announcements = &here;
  turn.begin = [] { return true; };
  Turns turns;

  turns.announce(turn, Buffers::ours);
  turns.go_on_by_itself();
  there.announce(Buffers::ours);
  while (turn.state == Turn::State::waiting) std::this_thread::yield();

  EXPECT_EQ(turn.state, Turn::State::ours);
}

TEST(Turns, AreNoneWhereAnotherRankHasMemoryOfTheHost) {
  Arena arena = Arena::make();
  const int block = arena.take();
  Announcements here(arena, arena.block(block), 0, 2), there(arena, arena.block(block), 1, 2);
  bool is_begun = false;
  Turn turn;
  turn.announcements = &here;
  turn.begin = [&] { return is_begun = true; };
  Turns turns;

  turns.announce(turn, Buffers::ours);
  there.announce(Buffers::host);
  turns.go_on();

  EXPECT_EQ(turn.state, Turn::State::mpis);
  EXPECT_FALSE(is_begun);
}

}  // namespace
}  // namespace polypath::test::turns_test
