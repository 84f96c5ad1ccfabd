// Sets of hops on a machine with round figures (support/hand_machine.h): gpu -> gpu 0.8 GB/s, from
// gpu2 to gpu1 0.3; an ingress of 1 GB/s per GPU; one engine per GPU for copies from the host.

#include "probe/hop_sets.h"

#include <gtest/gtest.h>

#include "support/hand_machine.h"

namespace polypath::test::hop_sets_test {
namespace {

using probe::HopSet;
using probe::Knowledge;

class HopSets : public testing::Test {
 protected:
  HopSets() {
    for (const Hop& hop : machine_.hops) known_.bandwidths.push_back(hop.bandwidth);
    for (const Resource& resource : machine_.resources)
      known_.capacities.push_back(resource.capacity);
  }
  HopId hop(int source, int destination) const {
    return *machine_.find_hop({source}, {destination});
  }

  Machine machine_ = hand_machine();
  Knowledge known_;
  static constexpr ResourceId kIngress1{1};   // of gpu1
  static constexpr ResourceId kFromHost1{4};  // gpu1's engine
};

// 0.3 of the slow hop and 0.7 of the fast one: max-min fair.
TEST_F(HopSets, ExpectFairRates) {
  const HopSet set = {hop(0, 1), hop(2, 1)};

  EXPECT_NEAR(probe::expected_total(machine_, known_, kIngress1, set).value, 1e9, 1);
}

// Twice 0.8 and twice 0.3 GB/s go into gpu1, more than its ingress has.
TEST_F(HopSets, AreTheHeaviestThereAre) {
  const HopSet set = probe::heaviest_set(machine_, known_, kIngress1);
  known_.capacities[kIngress1.index()] = BytesPerSecond::infinity();

  EXPECT_EQ(set, (HopSet{hop(0, 1), hop(0, 1), hop(2, 1), hop(2, 1)}));
  EXPECT_NEAR(probe::expected_total(machine_, known_, kIngress1, set).value, 2.2e9, 1);
}

TEST_F(HopSets, KeepCopiesApartThatExcludeEachOther) {
  const HopSet set = probe::heaviest_set(machine_, known_, kFromHost1);

  EXPECT_EQ(set, (HopSet{hop(3, 1)}));
}

}  // namespace
}  // namespace polypath::test::hop_sets_test
