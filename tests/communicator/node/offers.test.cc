// Decisions of ranks on memory that they share (communicator/node/offers.h). Ranks are threads
// here.

#include "communicator/node/offers.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "support/random.h"

namespace polypath::test::offers_test {
namespace {

constexpr Seconds kLong{10}, kShort{1e-4};

class Shared {
 public:
  explicit Shared(int ranks) : ranks_(ranks), memory_(Offers::bytes_for(ranks) / 64 + 1) {}
  [[nodiscard]] Offers of(int rank) { return {memory_.data(), ranks_, rank}; }

 private:
  struct alignas(64) Line {
    std::array<std::byte, 64> bytes{};
  };
  int ranks_;
  std::vector<Line> memory_;
};

using Answer = std::optional<std::vector<Offers::Words>>;

TEST(Offers, AreSeenByAllRanksThatOffer) {
  Shared shared(2);
  Offers first = shared.of(0), second = shared.of(1);
  Answer seen;

  std::thread other([&] { seen = first.decide(Offers::Words{1, 2}, kLong); });
  const Answer here = second.decide(Offers::Words{3, 4}, kLong);
  other.join();

  const std::vector<Offers::Words> both = {{1, 2}, {3, 4}};
  EXPECT_EQ(here, both);
  EXPECT_EQ(seen, both);
}

TEST(Offers, AreNotWaitedForWhereOneRefuses) {
  Shared shared(3);
  Offers first = shared.of(0), second = shared.of(1), third = shared.of(2);

  EXPECT_FALSE(second.decide({}, kLong));
  EXPECT_FALSE(first.decide(Offers::Words{1, 2}, kLong));
  EXPECT_FALSE(third.decide(Offers::Words{1, 2}, kLong));
}

TEST(Offers, OfRanksThatAreLateAreRefusedForAll) {
  Shared shared(2);
  Offers early = shared.of(0), late = shared.of(1);

  EXPECT_FALSE(early.decide(Offers::Words{1, 2}, kShort));
  EXPECT_FALSE(late.decide(Offers::Words{3, 4}, kLong));
}

// One rank does not run while the other one makes so many calls that slots are used again: here
// while it asks whether it is busy. Either both have accepted the first decision or neither has.
TEST(Offers, AreTheSameForARankThatDoesNotRunForManyCalls) {
  Shared shared(2);
  Offers slow = shared.of(0), fast = shared.of(1);
  Answer of_fast;

  const Answer of_slow = slow.decide(Offers::Words{1, 2}, {}, [&] {
    of_fast = fast.decide(Offers::Words{3, 4}, {});
    for (int call = 2; call <= 200; ++call) (void)fast.decide(Offers::Words{5, 6}, {});
    return true;
  });

  const std::vector<Offers::Words> both = {{1, 2}, {3, 4}};
  EXPECT_EQ(of_fast, both);
  EXPECT_EQ(of_slow, both);
}

// And what it comes to afterwards is refused by both until it has caught up.
TEST(Offers, OfARankThatIsFarBehindAreRefusedByAll) {
  Shared shared(2);
  Offers slow = shared.of(0), fast = shared.of(1);
  for (int call = 1; call <= 100; ++call)
    EXPECT_FALSE(fast.decide(Offers::Words{3, 4}, {})) << call;

  for (int call = 1; call <= 100; ++call)
    EXPECT_FALSE(slow.decide(Offers::Words{1, 2}, {})) << call;

  Answer of_slow;
  const Answer of_fast = fast.decide(Offers::Words{3, 4}, {}, [&] {
    of_slow = slow.decide(Offers::Words{1, 2}, {});
    return true;
  });
  EXPECT_TRUE(of_fast);
  EXPECT_EQ(of_slow, of_fast);
}

// What makes it busy ends, or the other one comes: here while it asks whether it still is.
TEST(Offers, AreWaitedForByWhoIsBusyAnyway) {
  Shared shared(2);
  Offers early = shared.of(0), late = shared.of(1);
  Answer seen;

  const Answer here = early.decide(Offers::Words{1, 2}, {}, [&] {
    seen = late.decide(Offers::Words{3, 4}, kLong);
    return true;
  });

  EXPECT_EQ(here, seen);
  EXPECT_TRUE(here);
}

TEST(Offers, AreNotWaitedForByWhoIsBusyNoMore) {
  Shared shared(2);
  Offers early = shared.of(0);
  int asked = 0;

  EXPECT_FALSE(early.decide(Offers::Words{1, 2}, {}, [&] { return ++asked < 3; }));

  EXPECT_EQ(asked, 3);
  EXPECT_TRUE(early.waited_in_vain());
}

// 1000 decisions ahead, the slots of which have been used again and again.
TEST(Offers, OfARankThatIsFarBehindAreRefused) {
  Shared shared(2);
  Offers early = shared.of(0), late = shared.of(1);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(early.decide(Offers::Words{1, 2}, {}));

  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(late.decide(Offers::Words{3, 4}, {}));
}

// Some refuse now and then, and some come late: what one rank sees, all see, and it is of that
// decision.
TEST(Offers, AreTheSameForAllWhateverTheRanksDo) {
  constexpr int kRanks = 3;
  constexpr std::uint64_t kDecisions = 3000;
  Shared shared(kRanks);
  std::vector<std::vector<Answer>> seen(kRanks);
  std::vector<std::thread> threads;

  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      Random random(static_cast<std::uint64_t>(rank) + 1);
      Offers own = shared.of(rank);
      for (std::uint64_t n = 0; n < kDecisions; ++n) {
        if (random.chance(2)) std::this_thread::yield();
        const Offers::Words mine{n, static_cast<std::uint64_t>(rank)};
        const bool refuses = random.chance(5);
        seen[static_cast<std::size_t>(rank)].push_back(
            own.decide(refuses ? std::nullopt : std::optional(mine), Seconds{1e-3}));
      }
    });
  for (std::thread& each : threads) each.join();

  std::size_t accepted = 0;
  for (std::uint64_t n = 0; n < kDecisions; ++n) {
    EXPECT_EQ(seen[1][n], seen[0][n]) << n;
    EXPECT_EQ(seen[2][n], seen[0][n]) << n;
    if (seen[0][n]) EXPECT_EQ(*seen[0][n], (std::vector<Offers::Words>{{n, 0}, {n, 1}, {n, 2}}));
    accepted += seen[0][n] ? 1 : 0;
  }
  EXPECT_GT(accepted, 0U);
}

}  // namespace
}  // namespace polypath::test::offers_test
