// A set that is known stays known only as long as its transfers go on as before.

#include <gtest/gtest.h>

#include "engine/load/load_tracker.h"
#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::known_sets_test {
namespace {

constexpr Seconds kLasts = 1000_us;
constexpr Seconds kPeriod = 5000_us;

// Copies of beluga's GPUs in rounds, each of which begins when the last one is long over.
class KnownSets : public testing::Test {
 protected:
  struct Way {
    int source;
    int destination;
    Bytes bytes = 64_MiB;
  };

  // Each is asked about and added; returns what the last one was told.
  RecurringSet round(const std::vector<Way>& ways) {
    RecurringSet set;
    for (const Way& way : ways) {
      const TransferRequest asked{
          {static_cast<std::uint64_t>(way.source * 4 + way.destination + 1)},
          {way.source},
          {way.destination},
          way.bytes};
      const Contention contention = tracker_.contention_of(asked, now_);
      tracker_.add(asked.stream, plan(way), now_, contention);
      set = contention.set;
    }
    now_ += kPeriod;
    return set;
  }
  RecurringSet rounds(int count, const std::vector<Way>& ways) {
    RecurringSet set;
    for (int i = 0; i < count; ++i) set = round(ways);
    return set;
  }

 private:
  [[nodiscard]] PlanPointer plan(const Way& way) const {
    auto plan = std::make_shared<Plan>();
    plan->source = {way.source}, plan->destination = {way.destination};
    plan->bytes = way.bytes;
    plan->predicted = plan->native_predicted = kLasts;
    plan->shape = direct_copy({*machine_.find_hop(plan->source, plan->destination), {}}, way.bytes);
    return plan;
  }

  Machine machine_ = load_machine("beluga");
  LoadTracker tracker_{machine_};
  Seconds now_;
};

TEST_F(KnownSets, StayTheSameRoundByRound) {
  const RecurringSet known = rounds(5, {{0, 1}, {1, 0}});

  ASSERT_EQ(known.transfers.size(), 2U);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(round({{0, 1}, {1, 0}}), known);
}

TEST_F(KnownSets, AreForgottenWhenOneStaysAway) {
  (void)rounds(10, {{0, 1}, {1, 0}});

  (void)rounds(5, {{0, 1}});

  EXPECT_TRUE(round({{0, 1}}).empty());
}

TEST_F(KnownSets, OfThreeAreForgottenByAllWhenOneStaysAway) {
  const RecurringSet three = rounds(10, {{0, 1}, {1, 2}, {2, 0}});

  const RecurringSet two = rounds(10, {{0, 1}, {1, 2}});

  EXPECT_EQ(three.transfers.size(), 3U);
  EXPECT_EQ(two.transfers.size(), 2U);
}

TEST_F(KnownSets, AreOthersWhenOneMoreJoins) {
  (void)rounds(10, {{0, 1}, {1, 0}});

  const RecurringSet beside_a_stranger = round({{2, 3}, {0, 1}, {1, 0}});
  const RecurringSet later = rounds(6, {{2, 3}, {0, 1}, {1, 0}});

  EXPECT_TRUE(beside_a_stranger.empty());
  EXPECT_EQ(later.transfers.size(), 3U);
}

TEST_F(KnownSets, AreForgottenWhenASizeChanges) {
  (void)rounds(10, {{0, 1}, {1, 0}});

  const RecurringSet changed = round({{0, 1, 32_MiB}, {1, 0}});
  const RecurringSet settled = rounds(6, {{0, 1, 32_MiB}, {1, 0}});

  EXPECT_TRUE(changed.empty());
  ASSERT_EQ(settled.transfers.size(), 2U);
  EXPECT_EQ(settled.transfers.front().bytes, 32_MiB);
}

}  // namespace
}  // namespace polypath::test::known_sets_test
