// The groups of the fixed order.

#include "collective/algorithms/fixed_order.h"

#include <gmock/gmock.h>

#include "collective/algorithms/algorithm.h"
#include "machine/load_machine.h"
#include "machine/nodes.h"
#include "support/layers.h"

namespace polypath::test::fixed_order_test {
namespace {

using testing::ElementsAre;

CollectiveRequest of(const Machine& machine, std::vector<PlaceId> ranks = {}) {
  if (ranks.empty()) ranks = machine.places_of(PlaceKind::gpu);
  return {.collective = Collective::all_reduce, .ranks = std::move(ranks)};
}

TEST(FixedOrder, IsOfGpusWithLinksOfTheirOwn) {
  const Machine mist = load_machine("mist");

  EXPECT_THAT(order_groups(mist, of(mist)), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_STREQ(fixed_order(mist, of(mist)), kGroupOrder);
  EXPECT_THAT(order_groups(mist, of(mist, {{0}, {2}, {1}})),
              ElementsAre(ElementsAre(0, 2), ElementsAre(1)));
}

TEST(FixedOrder, IsRankOrderWhereAllReachEachOther) {
  for (const char* name : {"h200x8", "dgx-a100", "beluga", "nop2p4"}) {
    const Machine machine = load_machine(name);
    EXPECT_EQ(order_groups(machine, of(machine)).size(), 1U) << name;
    EXPECT_STREQ(fixed_order(machine, of(machine)), kRankOrder) << name;
  }
}

TEST(FixedOrder, IsRankOrderOfSingleOnes) {
  const Machine mist = load_machine("mist");
  EXPECT_THAT(order_groups(mist, of(mist, {{1}, {3}})), ElementsAre(ElementsAre(0, 1)));
}

TEST(FixedOrder, IsOfNodes) {
  const Machine machine = machine_of_nodes(load_machine("mist"), 2);
  CollectiveRequest reduce = of(machine);
  reduce.collective = Collective::reduce;

  EXPECT_THAT(order_groups(machine, reduce),
              ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7)));
  EXPECT_STREQ(fixed_order(machine, reduce), kNodeOrder);
}

}  // namespace
}  // namespace polypath::test::fixed_order_test
