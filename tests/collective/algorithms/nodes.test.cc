// Collectives of several nodes: right, as predicted, and faster by `nodes` than flat.

#include "machine/nodes.h"

#include <gmock/gmock.h>

#include "collective/algorithms/node_ranks.h"
#include "collective/choose/choose.h"
#include "collective/choose/predicted_time.h"
#include "collective/support/ranks.h"
#include "machine/load_machine.h"
#include "support/effort.h"
#include "support/errors.h"

namespace polypath::test::nodes_test {
namespace {

Machine nodes_of(const char* name, int nodes) {
  return machine_of_nodes(load_machine(name), nodes);
}

CollectiveRequest request_of(const Machine& machine, Collective collective,
                             std::uint64_t elements) {
  const auto gpus = machine.places_of(PlaceKind::gpu);
  return {.collective = collective,
          .ranks = gpus,
          .elements = elements,
          .root = static_cast<int>(gpus.size()) - 2};
}

// 1009 is prime: no number of ranks, nodes or pieces divides it.
TEST(CollectivesOfNodes, AreRightByEveryAlgorithm) {
  for (const auto& [name, nodes] : {std::pair("mist", short_or_long(3, 4)), std::pair("cedar", 2)})
    for (const Algorithm& algorithm : algorithms())
      for (const Collective collective : algorithm.collectives) {
        SCOPED_TRACE(testing::Message() << name << " " << nodes << " " << algorithm.name);
        const Machine machine = nodes_of(name, nodes);
        CollectiveRequest request = request_of(machine, collective, 1009);
        request.in_place = collective == Collective::broadcast;
        expect_right(machine, algorithm, request, {.piece = 512_B, .radix = 4});
      }
}

// Slots of 4 KiB, which pieces of 8 KiB fill. 8 KiB · 5 and a bit for each rank are six pieces.
TEST(CollectivesOfNodes, AreRightInSlotsThatAreJoined) {
  for (const char* name : {"nodes", "chain", "trees", "grouped"}) {
    const Algorithm& algorithm = find_algorithm(name);
    for (const Collective collective : algorithm.collectives)
      for (const bool in_place : {false, true}) {
        const Machine machine = nodes_of("mist", 2);
        CollectiveRequest request = request_of(machine, collective, 10'301);
        request.in_place = in_place;

        expect_right(machine, algorithm, request, {.piece = 8_KiB, .joined = 2});
      }
  }
}

TEST(CollectivesOfNodes, AreRightFromRankToRank) {
  for (const int nodes : {2, 3})
    for (const int root : {0, 3, 5}) {
      const Machine machine = nodes_of("mist", nodes);
      CollectiveRequest request = request_of(machine, Collective::broadcast, 1009);
      request.root = root;

      expect_right(machine, find_algorithm("nodes"), request, {.piece = 512_B, .radix = 1});
    }
}

// Two nodes of eight GPUs, each with an adapter of its own.
Machine nodes_with_rails() {
  Machine node = load_machine("h200x8");
  node.network = Network{.latency = 5_us, .bandwidth = 46_GBps, .ends = {}};
  for (const PlaceId gpu : node.places_of(PlaceKind::gpu)) {
    NetworkEnd end{.place = gpu, .out = {}, .in = {}};
    for (std::vector<Use>* uses : {&end.out, &end.in}) {
      uses->push_back({ResourceId{static_cast<std::int32_t>(node.resources.size())}});
      node.resources.push_back(
          {.name = node.place(gpu).name + ".adapter" + std::to_string(node.resources.size()),
           .kind = "link",
           .capacity = 46_GBps});
    }
    node.network->ends.push_back(end);
  }
  return machine_of_nodes(node, 2);
}

TEST(CollectivesOfNodes, AreRightFromRankToRankOfLargeNodes) {
  const Machine machine = nodes_with_rails();
  for (const int root : {0, 6, 15}) {
    CollectiveRequest request = request_of(machine, Collective::broadcast, 10'301);
    request.root = root;

    expect_right(machine, find_algorithm("nodes"), request, {.piece = 512_B, .radix = 1});
  }
}

// What the eight adapters need together is a lower bound.
TEST(CollectivesOfNodes, OverlapRoundsOfLargeNodes) {
  const Machine machine = nodes_with_rails();
  const CollectiveRequest request =
      with_message(request_of(machine, Collective::broadcast, 1), 256_MiB);
  CollectivePlanner planner(machine, {});

  const CollectivePlan plan = planner.choose(request);

  EXPECT_STREQ(plan.chosen().algorithm->name, "nodes");
  EXPECT_LT(plan.chosen().predicted / (256_MiB / 368_GBps), 1.6);
}

TEST(CollectivesOfNodes, AreRightInPlaceByThoseThatKnowNodes) {
  for (const auto& [name, nodes] : {std::pair("mist", 2), std::pair("cedar", 4)})
    for (const char* algorithm : {"nodes", "leaders", "chain"})
      for (const Collective collective : find_algorithm(algorithm).collectives) {
        SCOPED_TRACE(testing::Message() << name << " " << nodes << " " << algorithm);
        const Machine machine = nodes_of(name, nodes);
        CollectiveRequest request = request_of(machine, collective, 1009);
        request.in_place = true;
        expect_right(machine, find_algorithm(algorithm), request, {.piece = 512_B, .radix = 4});
      }
}

TEST(CollectivesOfNodes, AreRightOfFewElementsAndOfAnyTypeAtAnyAlignment) {
  const Machine machine = nodes_of("mist", 3);
  Random random(13);
  for (const char* name : {"nodes", "leaders", "chain"})
    for (const std::uint64_t elements : {1, 3, 11, 4099})
      for (const Collective collective : find_algorithm(name).collectives) {
        CollectiveRequest request = request_of(machine, collective, elements);
        request.reduction = random_reduction(random);
        expect_right(machine, find_algorithm(name), request, {.piece = 256_B}, 3_B);
      }
}

TEST(CollectivesOfNodes, AreRightWhereRanksAreInAnyOrderAndNodesHaveOneEach) {
  const Machine machine = nodes_of("mist", 4);
  const auto gpu = [&](const char* name) { return machine.find_place(name); };
  const std::vector<std::vector<PlaceId>> groups = {
      {gpu("node2.gpu1"), gpu("node0.gpu3"), gpu("node2.gpu0"), gpu("node0.gpu0")},
      {gpu("node3.gpu1"), gpu("node1.gpu2"), gpu("node0.gpu2")}};
  for (const auto& ranks : groups)
    for (const char* name : {"nodes", "leaders"})
      for (const Collective collective : find_algorithm(name).collectives) {
        CollectiveRequest request{.collective = collective, .ranks = ranks, .elements = 577};
        request.root = 1;
        expect_right(machine, find_algorithm(name), request, {.piece = 256_B});
      }
}

// Behind a switch all copies to a GPU go through its port; links of their own need no rounds, and
// on `mist` two copies do not fill a GPU's links.
TEST(CollectivesOfNodes, AreInRoundsWhereRanksShareAWayIn) {
  const auto share = [](const char* name) {
    const Machine machine = load_machine(name);
    const CollectiveRequest request = request_of(machine, Collective::all_reduce, 1);
    return share_a_way_in(machine, request, ranks_by_node(machine, request).front());
  };

  EXPECT_TRUE(share("h200x8"));
  EXPECT_FALSE(share("cedar"));
  EXPECT_FALSE(share("mist"));
}

TEST(CollectivesOfNodes, WantAsManyRanksInEachNode) {
  const Machine machine = nodes_of("mist", 2);
  CollectiveRequest request = request_of(machine, Collective::all_reduce, 100);
  request.ranks.pop_back(), request.root = 0;

  expect_invalid_argument([&] { (void)build(find_algorithm("nodes"), machine, request, {}); },
                          "nodes", "as many ranks each");
}

TEST(CollectivesOfNodes, TakeAsLongAsPredicted) {
  for (const char* name : {"mist", "cedar"}) {
    const Machine machine = nodes_of(name, 2);
    HopRates rates(machine);
    for (const char* algorithm : {"nodes", "leaders", "flat", "chain", "ring"})
      for (const Executor executor : {Executor::stream, Executor::graph}) {
        const CollectiveRequest request = request_of(machine, Collective::all_reduce, 1 << 20);
        const CollectiveProgram program(
            build(find_algorithm(algorithm), machine, request, {.piece = 256_KiB}), executor);
        Ranks ranks(machine, request);
        ranks.run(program);  // instantiates

        const Seconds taken = ranks.run(program);

        EXPECT_NEAR(predicted_time(machine, rates, program.program, executor, ranks.gpu()) / taken,
                    1, 0.05)
            << name << " " << algorithm << " " << name_of(executor);
      }
  }
}

Seconds predicted(const Machine& machine, Bytes message, const CollectiveOptions& options) {
  const CollectiveRequest request =
      with_message(request_of(machine, Collective::all_reduce, 1), message);
  return CollectivePlanner(machine, {}).plan(request, options).chosen().predicted;
}

// Each node's adapter sends 2(N-1)/N of the message by `nodes`, flat 2(n-4)/n of it for each of
// its four GPUs.
TEST(CollectivesOfNodes, AreFasterByNodesThanFlatOnMist) {
  for (const int nodes : {2, 4}) {
    const Machine machine = nodes_of("mist", nodes);
    for (const Bytes message : {8_MiB, 64_MiB})
      EXPECT_GT(predicted(machine, message, {.algorithms = {"flat"}}) /
                    predicted(machine, message, {.algorithms = {"nodes"}}),
                2)
          << nodes << " nodes, " << message.value;
  }
}

// The adapter carries 12 GB/s each way; 64 MiB · 2(N-1)/N over it are 5.6 ms of two nodes and 8.4
// of four.
TEST(CollectivesOfNodes, TakeLittleLongerThanTheNetworkNeeds) {
  for (const int nodes : {2, 4}) {
    const Machine machine = nodes_of("mist", nodes);
    const Seconds network = 64_MiB / machine.hops.back().bandwidth * (2.0 * (nodes - 1) / nodes);

    const Seconds taken = predicted(machine, 64_MiB, {});

    EXPECT_GT(taken, network);
    EXPECT_LT(taken / network, 1.15) << nodes;
  }
}

}  // namespace
}  // namespace polypath::test::nodes_test
