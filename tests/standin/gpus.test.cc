// The facts that follow from a machine's description.

#include "standin/facts/gpus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::gpus_test {
namespace {

using standin::Gpu;
using standin::gpus_of;
using standin::visible_gpus;
using Indices = std::vector<std::size_t>;

std::vector<Gpu> gpus(const std::string& machine) { return gpus_of(load_machine(machine)); }

// As many as the computers have that the descriptions were made of.
TEST(StandInGpus, HaveTheNvLinksOfTheirMachine) {
  const auto links = [](const Gpu& gpu, int to) {
    return std::count(gpu.links.begin(), gpu.links.end(), to);
  };

  EXPECT_EQ(links(gpus("h200x4")[0], standin::kToSwitch), 18);
  EXPECT_EQ(links(gpus("dgx-a100")[7], standin::kToSwitch), 12);
  EXPECT_EQ(links(gpus("beluga")[0], 1), 2);
  EXPECT_EQ(links(gpus("mist")[0], 1), 3);
  EXPECT_EQ(links(gpus("mist")[0], 2), 0);
  EXPECT_EQ(links(gpus("narval")[3], 0), 4);
  EXPECT_TRUE(gpus("pcie4")[0].links.empty());
}

TEST(StandInGpus, ReachWhatTheMachineReachesByPeerAccess) {
  const auto mist = gpus("mist");

  EXPECT_TRUE(mist[0].reaches[1]);
  EXPECT_FALSE(mist[0].reaches[2]);
  EXPECT_FALSE(mist[0].reaches[0]);
  EXPECT_LT(mist[0].performance_ranks[1], mist[0].performance_ranks[2]);
  EXPECT_FALSE(gpus("nop2p4")[0].reaches[1]);
  EXPECT_TRUE(gpus("pcie4")[0].reaches[1]);
}

TEST(StandInGpus, HaveThePcieGenerationOfTheirHostHop) {
  EXPECT_EQ(gpus("beluga")[0].pcie_generation, 3);
  EXPECT_EQ(gpus("pcie4")[0].pcie_generation, 4);
  EXPECT_EQ(gpus("h200x4")[0].pcie_generation, 5);
}

TEST(StandInGpus, HaveAsManyLanesAsTheirHostHopNeeds) {
  Machine narrow = load_machine("beluga");
  for (Hop& hop : narrow.hops) hop.bandwidth = {0.4e9};

  EXPECT_EQ(gpus("beluga")[0].pcie_width, 16);
  EXPECT_EQ(gpus_of(narrow)[0].pcie_width, 2);
  EXPECT_EQ(gpus_of(narrow)[0].pcie_generation, 1);
}

TEST(StandInGpus, AreToldApartByUuidAndBus) {
  std::set<std::string> names;

  for (const char* machine : {"h200x4", "h200x8"})
    for (const Gpu& gpu : gpus(machine)) names.insert(uuid_text(gpu));

  EXPECT_EQ(names.size(), 12U);
  EXPECT_EQ(bus_id(gpus("h200x4")[1]), "0000:2A:00.0");
  EXPECT_EQ(uuid_text(gpus("h200x4")[1]), uuid_text(gpus("h200x4")[1]));
}

TEST(StandInGpus, AreVisibleAsCudaSays) {
  const auto all = gpus("h200x4");

  EXPECT_EQ(visible_gpus(all, "all"), (Indices{0, 1, 2, 3}));
  EXPECT_EQ(visible_gpus(all, "3,1"), (Indices{3, 1}));
  EXPECT_EQ(visible_gpus(all, ""), Indices{});
  EXPECT_EQ(visible_gpus(all, "0,7,1"), Indices{0});
  EXPECT_EQ(visible_gpus(all, "-1"), Indices{});
  EXPECT_EQ(visible_gpus(all, "NoDevFiles"), Indices{});
  EXPECT_EQ(visible_gpus(all, "1,1"), Indices{});
  EXPECT_EQ(visible_gpus(all, uuid_text(all[2])), Indices{2});
  EXPECT_EQ(visible_gpus(all, uuid_text(all[2]).substr(0, 12) + ",0"), (Indices{2, 0}));
  EXPECT_EQ(visible_gpus(all, "GPU-"), Indices{});
}

}  // namespace
}  // namespace polypath::test::gpus_test
