// Decisions of ranks on memory that they share (communicator/node/agreement_ring.h). Ranks are
// threads here.

#include "communicator/node/agreement_ring.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "support/random.h"

namespace polypath::test::offers_test {
namespace {

constexpr Seconds kLong{10}, kShort{1e-4};

class Shared {
 public:
  explicit Shared(int ranks) : ranks_(ranks), memory_(AgreementRing::bytes_for(ranks) / 64 + 1) {}
  [[nodiscard]] AgreementRing of(int rank) { return {memory_.data(), ranks_, rank}; }

 private:
  struct alignas(64) Line {
    std::array<std::byte, 64> bytes{};
  };
  int ranks_;
  std::vector<Line> memory_;
};

using Answer = std::optional<std::vector<AgreementRing::Words>>;

TEST(AgreementRing, AreSeenByAllRanksThatOffer) {
  Shared shared(2);
  AgreementRing first = shared.of(0), second = shared.of(1);
  Answer seen;

  std::thread other([&] { seen = first.vote(AgreementRing::Words{1, 2}, kLong); });
  const Answer here = second.vote(AgreementRing::Words{3, 4}, kLong);
  other.join();

  const std::vector<AgreementRing::Words> both = {{1, 2}, {3, 4}};
  EXPECT_EQ(here, both);
  EXPECT_EQ(seen, both);
}

TEST(AgreementRing, AreNotWaitedForWhereOneRefuses) {
  Shared shared(3);
  AgreementRing first = shared.of(0), second = shared.of(1), third = shared.of(2);

  EXPECT_FALSE(second.vote({}, kLong));
  EXPECT_FALSE(first.vote(AgreementRing::Words{1, 2}, kLong));
  EXPECT_FALSE(third.vote(AgreementRing::Words{1, 2}, kLong));
}

TEST(AgreementRing, OfRanksThatAreLateAreRefusedForAll) {
  Shared shared(2);
  AgreementRing early = shared.of(0), late = shared.of(1);

  EXPECT_FALSE(early.vote(AgreementRing::Words{1, 2}, kShort));
  EXPECT_FALSE(late.vote(AgreementRing::Words{3, 4}, kLong));
}

// One rank does not run while the other one makes so many calls that slots are used again: here
// while it asks whether it is busy. Either both have committed the first decision or neither has.
TEST(AgreementRing, AreTheSameForARankThatDoesNotRunForManyCalls) {
  Shared shared(2);
  AgreementRing slow = shared.of(0), fast = shared.of(1);
  Answer of_fast;

  const Answer of_slow = slow.vote(AgreementRing::Words{1, 2}, {}, [&] {
    of_fast = fast.vote(AgreementRing::Words{3, 4}, {});
    for (int call = 2; call <= 200; ++call) (void)fast.vote(AgreementRing::Words{5, 6}, {});
    return true;
  });

  const std::vector<AgreementRing::Words> both = {{1, 2}, {3, 4}};
  EXPECT_EQ(of_fast, both);
  EXPECT_EQ(of_slow, both);
}

// And what it comes to afterwards is refused by both until it has caught up.
TEST(AgreementRing, OfARankThatIsFarBehindAreRefusedByAll) {
  Shared shared(2);
  AgreementRing slow = shared.of(0), fast = shared.of(1);
  for (int call = 1; call <= 100; ++call)
    EXPECT_FALSE(fast.vote(AgreementRing::Words{3, 4}, {})) << call;

  for (int call = 1; call <= 100; ++call)
    EXPECT_FALSE(slow.vote(AgreementRing::Words{1, 2}, {})) << call;

  Answer of_slow;
  const Answer of_fast = fast.vote(AgreementRing::Words{3, 4}, {}, [&] {
    of_slow = slow.vote(AgreementRing::Words{1, 2}, {});
    return true;
  });
  EXPECT_TRUE(of_fast);
  EXPECT_EQ(of_slow, of_fast);
}

// What makes it busy ends, or the other one comes: here while it asks whether it still is.
TEST(AgreementRing, AreWaitedForByWhoIsBusyAnyway) {
  Shared shared(2);
  AgreementRing early = shared.of(0), late = shared.of(1);
  Answer seen;

  const Answer here = early.vote(AgreementRing::Words{1, 2}, {}, [&] {
    seen = late.vote(AgreementRing::Words{3, 4}, kLong);
    return true;
  });

  EXPECT_EQ(here, seen);
  EXPECT_TRUE(here);
}

TEST(AgreementRing, AreNotWaitedForByWhoIsBusyNoMore) {
  Shared shared(2);
  AgreementRing early = shared.of(0);
  int asked = 0;

  EXPECT_FALSE(early.vote(AgreementRing::Words{1, 2}, {}, [&] { return ++asked < 3; }));

  EXPECT_EQ(asked, 3);
  EXPECT_TRUE(early.waited_in_vain());
}

// 1000 decisions ahead, the slots of which have been used again and again.
TEST(AgreementRing, OfARankThatIsFarBehindAreRefused) {
  Shared shared(2);
  AgreementRing early = shared.of(0), late = shared.of(1);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(early.vote(AgreementRing::Words{1, 2}, {}));

  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(late.vote(AgreementRing::Words{3, 4}, {}));
}

// Some refuse now and then, and some come late: what one rank sees, all see, and it is of that
// decision.
TEST(AgreementRing, AreTheSameForAllWhateverTheRanksDo) {
  constexpr int kRanks = 3;
  constexpr std::uint64_t kDecisions = 3000;
  Shared shared(kRanks);
  std::vector<std::vector<Answer>> seen(kRanks);
  std::vector<std::thread> threads;

  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      Random random(static_cast<std::uint64_t>(rank) + 1);
      AgreementRing own = shared.of(rank);
      for (std::uint64_t n = 0; n < kDecisions; ++n) {
        if (random.chance(2)) std::this_thread::yield();
        const AgreementRing::Words mine{n, static_cast<std::uint64_t>(rank)};
        const bool refuses = random.chance(5);
        seen[static_cast<std::size_t>(rank)].push_back(
            own.vote(refuses ? std::nullopt : std::optional(mine), Seconds{1e-3}));
      }
    });
  for (std::thread& each : threads) each.join();

  std::size_t committed = 0;
  for (std::uint64_t n = 0; n < kDecisions; ++n) {
    EXPECT_EQ(seen[1][n], seen[0][n]) << n;
    EXPECT_EQ(seen[2][n], seen[0][n]) << n;
    if (seen[0][n])
      EXPECT_EQ(*seen[0][n], (std::vector<AgreementRing::Words>{{n, 0}, {n, 1}, {n, 2}}));
    committed += seen[0][n] ? 1 : 0;
  }
  EXPECT_GT(committed, 0U);
}

}  // namespace
}  // namespace polypath::test::offers_test
