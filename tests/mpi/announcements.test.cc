// Ranks agree on each call at any order of their steps.

#include "mpi/announcements.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

#include "support/layers.h"

namespace polypath::test::mpi_announcements_test {
namespace {

using mpi::Announcements;
using mpi::Arena;
using mpi::Buffers;

void give_way() { std::this_thread::yield(); }

// Each rank by a thread of its own.
template <class Action>
void on_ranks(int ranks, const Arena& arena, int block, Action action) {
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      Announcements own(arena, arena.block(block), rank, ranks);
      action(rank, own);
    });
}

// What rank r passes in a call: the same wherever it is asked.
Buffers passed(int rank, std::uint64_t call, unsigned hosts) {
  std::mt19937 random(static_cast<unsigned>(call * 31 + static_cast<unsigned>(rank)));
  if (random() % 100 < hosts) return Buffers::host;
  return random() % 8 == 0 ? Buffers::none : Buffers::ours;
}

bool expected(int ranks, std::uint64_t call, unsigned hosts) {
  bool any = false;
  for (int rank = 0; rank < ranks; ++rank) {
    if (passed(rank, call, hosts) == Buffers::host) return false;
    any = any || passed(rank, call, hosts) == Buffers::ours;
  }
  return any;
}

class Agreement : public testing::TestWithParam<unsigned> {};

TEST_P(Agreement, IsTheSameAtAllRanksInEveryCall) {
  constexpr int kRanks = 3;
  constexpr std::uint64_t kCalls = 3000;  // many times what is remembered
  Arena arena = Arena::make();
  const int block = arena.take();
  std::vector<int> wrong(kRanks);

  on_ranks(kRanks, arena, block, [&](int rank, Announcements& own) {
    for (std::uint64_t call = 0; call < kCalls; ++call) {
      const Buffers mine = passed(rank, call, GetParam());
      own.make_room(give_way);
      const std::uint64_t number = own.announce(mine);
      if (!is_asked(mine)) continue;  // it never waits
      std::optional<bool> agreed;
      while (!(agreed = own.is_ours_at_all(number))) give_way();
      if (*agreed != expected(kRanks, call, GetParam())) ++wrong[static_cast<std::size_t>(rank)];
      own.note_decided(number);
    }
  });

  EXPECT_EQ(wrong, std::vector<int>(kRanks, 0));
}

INSTANTIATE_TEST_SUITE_P(HostsInPercent, Agreement, testing::Values(0, 1, 30, 100));

TEST(Announcements, AreNotOverwrittenBeforeTheSlowestRankHasComeBy) {
  Arena arena = Arena::make();
  const int block = arena.take();
  Announcements fast(arena, arena.block(block), 0, 2), slow(arena, arena.block(block), 1, 2);
  int waits = 0;
  std::uint64_t last = 0;
  const auto wait = [&] {
    if (++waits > 1) throw std::runtime_error("held up");
  };

  const auto announce = [&](Announcements& rank) {
    rank.make_room(wait);
    return rank.announce(Buffers::ours);
  };

  EXPECT_THROW(for (;;) last = announce(fast), std::runtime_error);

  EXPECT_LT(last, mpi::AnnouncedCalls::kRemembered);
  EXPECT_EQ(announce(slow), 0u);
  EXPECT_EQ(slow.is_ours_at_all(0), true);
}

TEST(Announcements, TellTheirNumbersToAllAgainAndAgain) {
  constexpr int kRanks = 3, kTimes = 2000;
  Arena arena = Arena::make();
  const int block = arena.take();
  std::vector<int> wrong(kRanks);

  on_ranks(kRanks, arena, block, [&](int rank, Announcements& own) {
    for (int time = 0; time < kTimes; ++time) {
      const std::vector<mpi::Count> all = own.exchange({rank, time}, give_way);
      if (all != std::vector<mpi::Count>{0, time, 1, time, 2, time})
        ++wrong[static_cast<std::size_t>(rank)];
    }
  });

  EXPECT_EQ(wrong, std::vector<int>(kRanks, 0));
}

TEST(Announcements, GiveATurnThatAllRanksFind) {
  Arena arena = Arena::make();
  const int block = arena.take();
  Announcements here(arena, arena.block(block), 0, 2), there(arena, arena.block(block), 1, 2);
  const std::uint64_t first = here.announce(Buffers::ours), second = here.announce(Buffers::ours);
  there.announce(Buffers::ours), there.announce(Buffers::ours);

  const std::uint64_t earlier = here.turn_of(first), later = there.turn_of(second);

  EXPECT_LT(earlier, later);
  EXPECT_EQ(there.turn_of(first), earlier);
  EXPECT_EQ(here.turn_of(second), later);
}

TEST(Announcements, OfMemoryOfTheHostAreQuickUnlessACallIsUndecided) {
  Arena arena = Arena::make();
  const int block = arena.take();
  Announcements here(arena, arena.block(block), 0, 2), there(arena, arena.block(block), 1, 2);
  const std::uint64_t call = here.announce(Buffers::ours);
  there.announce(Buffers::ours), there.announce(Buffers::ours);

  const bool while_undecided = here.announce_host();
  here.note_decided(call);
  const bool after = here.announce_host();

  EXPECT_FALSE(while_undecided);
  EXPECT_TRUE(after);
  EXPECT_EQ(there.is_ours_at_all(1), false);
}

TEST(Announcements, SayWhetherAllHaveJoinedOnceAllHaveTried) {
  Arena arena = Arena::make();
  const int block = arena.take();
  Announcements first(arena, arena.block(block), 0, 2), second(arena, arena.block(block), 1, 2);

  first.note_joined(true);
  const auto before = first.have_joined();
  second.note_joined(false);

  EXPECT_EQ(before, std::nullopt);
  EXPECT_EQ(first.have_joined(), false);
  second.note_joined(true);
  EXPECT_EQ(first.have_joined(), true);
}

TEST(ArenaOfAJob, GivesABlockBackWhenItsLastRankHasLeft) {
  Arena arena = Arena::make();
  const int first = arena.take();
  Announcements of_first(arena, arena.block(first), 0, 2);
  of_first.announce(Buffers::ours);

  arena.leave(first, 2);
  const int second = arena.take();
  arena.leave(first, 2);
  const int third = arena.take();

  EXPECT_NE(second, first);
  EXPECT_EQ(third, first);
  EXPECT_EQ(Announcements(arena, arena.block(third), 1, 2).is_ours_at_all(0), std::nullopt);
}

TEST(ArenaOfAJob, SaysWhenAllBlocksAreTaken) {
  Arena arena = Arena::make();

  int last = 0, taken = 0;
  while ((last = arena.take()) >= 0) ++taken;

  EXPECT_EQ(taken, 512);
  EXPECT_EQ(arena.take(), -1);
}

TEST(ArenaOfAJob, IsTheSameInAnotherMapping) {
  Arena arena = Arena::make();
  Arena other = Arena::open(arena.name());
  const int block = arena.take();
  Announcements here(arena, arena.block(block), 0, 2), there(other, other.block(block), 1, 2);

  here.announce(Buffers::ours);
  there.announce(Buffers::host);

  EXPECT_EQ(here.is_ours_at_all(0), false);
  EXPECT_NE(other.take(), block);
}

}  // namespace
}  // namespace polypath::test::mpi_announcements_test
