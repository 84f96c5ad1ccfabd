// Packed trees carry all that is asked for, each rank's once, and use links as evenly as they can.

#include "collective/trees/packing.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "collective/trees/link_times.h"
#include "machine/load_machine.h"
#include "machine/nodes.h"
#include "support/effort.h"
#include "support/random.h"

namespace polypath::test::packing_test {
namespace {

using Kind = TreeDemand::Kind;

std::vector<Machine> machines() {
  std::vector<Machine> machines;
  for (const char* name : {"mist", "h200x8", "pcie4", "synthetic:3", "synthetic:8", "synthetic:12"})
    machines.push_back(load_machine(name));
  machines.push_back(machine_of_nodes(load_machine("mist"), 2));
  return machines;
}

PackingRequest random_request(Random& random, const Machine& machine) {
  PackingRequest request{.ranks = machine.places_of(PlaceKind::gpu)};
  const int ranks = static_cast<int>(request.ranks.size());
  for (int root = 0; root < ranks; ++root)
    for (const Kind kind : {Kind::to_all, Kind::to_one, Kind::sum}) {
      if (random.chance(40)) continue;
      const int target = (root + random.integer(1, ranks - 1)) % ranks;
      request.demands.push_back({kind, root, target, 1.0 + random.integer(0, 3)});
    }
  if (request.demands.empty()) request.demands.push_back({});
  if (random.chance(50)) {
    const int first = random.integer(1, ranks - 1);
    request.groups.resize(2);
    for (int rank = 0; rank < ranks; ++rank) request.groups[rank < first ? 0 : 1].push_back(rank);
  }
  request.most_trees = random.integer(1, 4);
  request.by_hosts = random.chance(50);
  return request;
}

// Every edge is a hop, and parents come before their children.
void expect_tree(const Machine& machine, const PackingRequest& request, const Tree& tree,
                 bool inwards) {
  for (int number = 1; number < static_cast<int>(tree.vertices().size()); ++number) {
    const Vertex& vertex = tree.vertex(number);
    ASSERT_LT(vertex.parent, number);
    EXPECT_EQ(vertex.depth, tree.vertex(vertex.parent).depth + 1);
    const PlaceId child = request.ranks[index_of(vertex.rank)];
    const PlaceId parent = request.ranks[index_of(tree.vertex(vertex.parent).rank)];
    if (child == parent) continue;
    EXPECT_TRUE(inwards ? machine.find_hop(child, parent) : machine.find_hop(parent, child));
  }
}

std::multiset<int> taking_part(const Tree& tree) {
  std::multiset<int> ranks;
  for (const Vertex& each : tree.vertices())
    if (each.takes_part) ranks.insert(each.rank);
  return ranks;
}

TEST(Packing, HasEachRankOnceInEachTree) {
  Random random(11);
  for (const Machine& machine : machines())
    for (int number = 0; number < short_or_long(6, 60); ++number) {
      const PackingRequest request = random_request(random, machine);
      std::multiset<int> all;
      for (std::size_t rank = 0; rank < request.ranks.size(); ++rank)
        all.insert(static_cast<int>(rank));

      const Packing packing = pack_trees(machine, request);

      ASSERT_EQ(packing.size(), request.demands.size());
      for (std::size_t k = 0; k < packing.size(); ++k) {
        const TreeDemand& demand = request.demands[k];
        double shares = 0;
        for (const TreeShare& each : packing[k]) {
          shares += each.share;
          expect_tree(machine, request, each.tree, demand.kind == Kind::sum);
          EXPECT_EQ(each.tree.vertex(0).rank, demand.root);
          if (demand.kind == Kind::to_one)
            EXPECT_EQ(each.tree.vertices().back().rank, demand.target);
          else EXPECT_EQ(taking_part(each.tree), all);
        }
        EXPECT_NEAR(shares, 1, 1e-9);
        EXPECT_LE(packing[k].size(), static_cast<std::size_t>(request.most_trees));
      }
    }
}

// The values that meet at a vertex, in the order in which they are added up.
std::vector<int> added_at(const Tree& tree, int number) {
  std::map<int, std::vector<int>> operands;
  const Vertex& vertex = tree.vertex(number);
  if (vertex.takes_part) operands[vertex.rank] = {vertex.rank};
  for (int child = number + 1; child < static_cast<int>(tree.vertices().size()); ++child)
    if (tree.vertex(child).parent == number)
      operands[tree.vertex(child).order] = added_at(tree, child);
  std::vector<int> all;
  for (const auto& [order, values] : operands) all.insert(all.end(), values.begin(), values.end());
  return all;
}

TEST(Packing, AddsUpInTheOrderOfGroups) {
  const Machine machine = load_machine("dgx-a100");
  PackingRequest request{.ranks = machine.places_of(PlaceKind::gpu),
                         .groups = {{0, 3, 5}, {1, 2}, {4, 6, 7}},
                         .most_trees = 2};
  for (int root = 0; root < 8; ++root) request.demands.push_back({Kind::sum, root});

  const Packing packing = pack_trees(machine, request);

  for (const auto& trees : packing)
    for (const TreeShare& each : trees)
      EXPECT_THAT(added_at(each.tree, 0), testing::ElementsAre(0, 3, 5, 1, 2, 4, 6, 7));
}

// The busiest resource's time for a byte of each rank, all-gathered.
double busiest(const Machine& machine, int most_trees) {
  PackingRequest request{.ranks = machine.places_of(PlaceKind::gpu), .most_trees = most_trees};
  for (int root = 0; root < static_cast<int>(request.ranks.size()); ++root)
    request.demands.push_back({.root = root});
  const LinkTimes links(machine, request.ranks, request.by_hosts);
  std::vector<double> busy(links.resources());
  for (const auto& trees : pack_trees(machine, request))
    for (const TreeShare& each : trees)
      for (const BusyTime& time : links.of(each.tree, false))
        busy[time.resource] += time.time * each.share;
  return *std::ranges::max_element(busy);
}

// Two sockets of two GPUs, and 51.2 GB/s each way between them, which two blocks cross: each goes
// over once.
TEST(Packing, CrossesANarrowLinkOnce) {
  EXPECT_NEAR(busiest(load_machine("mist"), 1), 2 / 51.2e9, 0.1e-12);
}

// Behind a switch seven blocks leave a GPU, or arrive there, however they go.
TEST(Packing, IsAsGoodAsDirectCopiesBehindASwitch) {
  const Machine machine = load_machine("h200x8");
  const Hop& hop = machine.hop(*machine.find_hop({0}, {1}));
  EXPECT_LE(busiest(machine, 1), 7 / hop.bandwidth.value * 1.0001);
}

// A ring of six, both ways: a block goes half around each way, five links' worth of six each way.
TEST(Packing, HandsOnWhereLinksAreMissing) {
  Machine ring;
  ring.name = "ring";
  for (int gpu = 0; gpu < 6; ++gpu)
    ring.places.push_back({"gpu" + std::to_string(gpu), PlaceKind::gpu, "", 0, 1_us});
  for (int from = 0; from < 6; ++from)
    for (const int to : {(from + 1) % 6, (from + 5) % 6}) {
      ring.resources.push_back({std::to_string(from) + "-" + std::to_string(to), "link", 1_GBps});
      const ResourceId link{static_cast<std::int32_t>(ring.resources.size()) - 1};
      ring.hops.push_back({{from}, {to}, HopKind::peer, 1_us, 1_GBps, {{link}}});
    }

  EXPECT_LE(busiest(ring, 2), 2.5001e-9);
}

// Three GPUs whose direct copies are slower than copies by way of a host.
Machine three_around_a_host(BytesPerSecond direct) {
  Machine machine;
  machine.name = "three";
  for (int gpu = 0; gpu < 3; ++gpu)
    machine.places.push_back({"gpu" + std::to_string(gpu), PlaceKind::gpu, "", 0, 1_us});
  machine.places.push_back({"host0", PlaceKind::host, "", 0, 1_us});
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to) {
      if (from == to) continue;
      const bool is_direct = from < 3 && to < 3;
      machine.hops.push_back({{from},
                              {to},
                              is_direct ? HopKind::peer : HopKind::host,
                              1_us,
                              is_direct ? direct : 20_GBps,
                              {}});
    }
  return machine;
}

std::set<PlaceId> ways_of_a_broadcast(const Machine& machine, bool by_hosts) {
  const Packing packing = pack_trees(
      machine, {.ranks = machine.places_of(PlaceKind::gpu), .demands = {{}}, .by_hosts = by_hosts});
  std::set<PlaceId> ways;
  for (std::size_t vertex = 1; vertex < 3; ++vertex)
    ways.insert(packing.front().front().tree.vertices()[vertex].by);
  return ways;
}

TEST(Packing, GoesByAHostWhereThatIsFasterAndAskedFor) {
  const PlaceId host{3}, direct;
  EXPECT_THAT(ways_of_a_broadcast(three_around_a_host(10_GBps), true), testing::ElementsAre(host));
  EXPECT_THAT(ways_of_a_broadcast(three_around_a_host(10_GBps), false),
              testing::ElementsAre(direct));
  EXPECT_THAT(ways_of_a_broadcast(three_around_a_host(30_GBps), true),
              testing::ElementsAre(direct));
}

TEST(Packing, IsEmptyWhereARankIsOutOfReach) {
  Machine machine = load_machine("h200x4");
  std::erase_if(machine.hops, [](const Hop& hop) { return hop.destination == PlaceId{2}; });

  EXPECT_TRUE(
      pack_trees(machine, {.ranks = machine.places_of(PlaceKind::gpu), .demands = {{}}}).empty());
}

}  // namespace
}  // namespace polypath::test::packing_test
