// Which of equally good relays are taken: not the same few by all GPUs of a node.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "machine/load_machine.h"
#include "plan/single/planner.h"
#include "support/layers.h"

namespace polypath::test::relays_test {
namespace {

std::vector<PlaceId> gpus_of(const Machine& machine) {
  std::vector<PlaceId> gpus;
  for (std::size_t i = 0; i < machine.places.size(); ++i)
    if (machine.places[i].kind == PlaceKind::gpu) gpus.push_back({static_cast<std::int32_t>(i)});
  return gpus;
}

class Relays : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Machines, Relays, testing::Values("h200x4", "h200x8"));

// Each rank of a node copies from the host to a GPU of its own. Where two sockets differ it is not
// quite equal.
TEST_P(Relays, AreSpreadOverAllGpus) {
  const Machine machine = load_machine(GetParam());
  Planner planner(machine, {});
  std::map<PlaceId, int> relayed;

  for (const PlaceId gpu : gpus_of(machine)) {
    const PlanPointer plan = planner.plan(machine.nearest_host(gpu), gpu, 256_MiB);
    for (const PathShape& part : plan->shape.paths)
      if (part.path.staged()) ++relayed[staging_place(machine, part.path)];
  }

  ASSERT_EQ(relayed.size(), gpus_of(machine).size());
  const auto [least, most] =
      std::minmax_element(relayed.begin(), relayed.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
  EXPECT_LE(most->second, least->second + 2);
}

}  // namespace
}  // namespace polypath::test::relays_test
