// Memory that ranks open to each other, where a call is captured
// (collective/rank/peer_registration.h).

#include <gtest/gtest.h>

#include <thread>

#include "collective/rank/peer_registration.h"
#include "collective/support/ranks.h"
#include "machine/load_machine.h"
#include "support/open_ends.h"

namespace polypath::test::captured_memory_test {
namespace {

/// Two ranks' ends of what they open to each other, on one machine.
class TwoEnds : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<PeerRegistration> end_of(int rank) {
    return std::make_unique<PeerRegistration>(driver_, gpus_[static_cast<std::size_t>(rank)], rank,
                                              shared_.notices_of(rank), shared_.offers_of(rank));
  }

  sim::SimDriver driver_{load_machine("h200x4")};
  std::vector<PlaceId> gpus_ = first_gpus(driver_.machine(), 2);
  OpenEnds shared_;
};

// A graph of one call, in memory that no call has used before.
TEST_F(TwoEnds, OpenMemoryAtOnceForACallThatIsCaptured) {
  const std::array memory = {driver_.allocate(gpus_[0], 1_MiB), driver_.allocate(gpus_[1], 1_MiB)};
  std::array<std::optional<std::vector<PeerRegistration::Addresses>>, 2> all;
  {
    std::vector<std::jthread> threads;
    for (const std::size_t rank : {0U, 1U})
      threads.emplace_back([&, rank, end = std::shared_ptr(end_of(static_cast<int>(rank)))] {
        all[rank] = end->lookup_all({memory[rank]}, Seconds{20}, true);
      });
  }

  for (const auto& each : all) {
    ASSERT_TRUE(each);
    for (const std::size_t rank : {0U, 1U}) EXPECT_EQ((*each)[rank][0], memory[rank]);
  }
  for (const Address each : memory) driver_.free(each);
}

// A rank that came too late for one call is not taken to be late for the graph of all.
TEST_F(TwoEnds, OpenMemoryForACaptureAfterAnEagerCallInVain) {
  const std::array memory = {driver_.allocate(gpus_[0], 1_MiB), driver_.allocate(gpus_[1], 1_MiB)};
  const std::array ends = {end_of(0), end_of(1)};
  const auto on_both = [&](Seconds patience, bool captured) {
    std::array<bool, 2> open{};
    std::vector<std::jthread> threads;
    for (const std::size_t rank : {0U, 1U})
      threads.emplace_back([&, rank] {
        open[rank] = ends[rank]->lookup_all({memory[rank]}, patience, captured).has_value();
      });
    threads.clear();
    return open[0] && open[1];
  };
  while (!on_both(Seconds{20}, false)) {
  }

  EXPECT_FALSE(ends[0]->lookup_all({memory[0]}, Seconds{1e-3}, false));
  EXPECT_FALSE(ends[1]->lookup_all({memory[1]}, Seconds{1e-3}, false));

  EXPECT_TRUE(on_both(Seconds{20}, true));
  for (const Address each : memory) driver_.free(each);
}

// The second call does not wait: it would for eleven days.
TEST_F(TwoEnds, AreNotWaitedForAgainByWhoCapturesAlone) {
  const Address memory = driver_.allocate(gpus_[0], 1_MiB);
  const auto end = end_of(0);

  EXPECT_FALSE(end->lookup_all({memory}, Seconds{1e-3}, true));

  EXPECT_FALSE(end->lookup_all({memory}, Seconds{1e6}, true));

  driver_.free(memory);
}

}  // namespace
}  // namespace polypath::test::captured_memory_test
