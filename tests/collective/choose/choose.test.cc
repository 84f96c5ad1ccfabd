// The choice among algorithms, and the figures of the papers' machines. All times are of the
// timeline or of the simulated driver, which repeat exactly.

#include "collective/choose/choose.h"

#include <gmock/gmock.h>

#include "collective/support/ranks.h"
#include "core/text.h"
#include "machine/load_machine.h"
#include "support/effort.h"
#include "support/errors.h"

namespace polypath::test::choose_test {
namespace {

CollectiveRequest request_of(const Machine& machine, Collective collective, Bytes message) {
  const auto gpus = machine.places_of(PlaceKind::gpu);
  return with_message({.collective = collective, .ranks = gpus, .elements = 1}, message);
}

// On the simulated driver, without bytes, the second time.
Seconds simulated(const Machine& machine, const CollectiveRequest& request,
                  const CollectiveProgram& program, const Settings& settings = {}) {
  sim::SimDriver driver(machine, sim::kTimingOnly);
  CollectiveRun runner(driver, machine, settings);
  const PlaceId gpu = request.ranks.front();
  const StreamHandle stream = driver.create_stream(gpu);
  std::vector<Address> buffers;
  for (const auto bytes_of_rank : {input_bytes, output_bytes})
    for (int rank = 0; rank < request.size(); ++rank)
      buffers.push_back(driver.allocate(request.ranks[static_cast<std::size_t>(rank)],
                                        bytes_of_rank(request, rank) + 1_B));
  Seconds taken;
  for (int run = 0; run < 2; ++run) {
    const Seconds start = driver.now();
    runner.run(program, buffers, stream, gpu);
    driver.synchronize(stream);
    taken = driver.now() - start;
  }
  return taken;
}

Seconds simulated(const Machine& machine, const CollectivePlan& plan) {
  return simulated(machine, plan.request, *plan.program);
}

Seconds best_of(const char* name, const std::string& algorithm, Bytes message,
                PathChoice paths = PathChoice::any) {
  const Machine machine = load_machine(name);
  CollectivePlanner planner(machine, {});
  const CollectivePlan plan = planner.plan(request_of(machine, Collective::all_reduce, message),
                                           {.paths = paths, .algorithms = {algorithm}});
  return simulated(machine, plan);
}

// 003 has 2.77 times at 64 MB, beside its own hierarchical algorithm.
TEST(CollectiveFigures, FlatBeatsHierarchicalOnCedar) {
  EXPECT_GE(best_of("cedar", "hierarchical", 64_MiB) / best_of("cedar", "flat", 64_MiB), 1.8);
}

// The sockets' link is what limits: 2/4 of the message cross it four times flat, and all of it once
// each way between leaders.
TEST(CollectiveFigures, HierarchicalBeatsFlatOnMist) {
  EXPECT_GT(best_of("mist", "flat", 64_MiB) / best_of("mist", "hierarchical", 64_MiB), 1.1);
}

// Without peer access what n ranks need is written once and read n-1 times. Of S bytes on nop2p4:
// the host's memory carries (3·4-2)·S at 163.8 GB/s, and each rank reads 1.5·S at 26.2 GB/s. That
// memory is what limits: 64 MiB take 10·67.1 MB/163.8 GB/s = 4097 us at least. It gives all copies
// that are under way the same rate; so, as there is less to write than to read, reads are alone in
// the end, and it is not full: S/20.5 + 0.5·S/26.2 = 4558 us.
TEST(CollectiveFigures, ThroughTheHostIsTheBestWithoutPeerAccess) {
  const Bytes message = 64_MiB;
  const Seconds host = best_of("nop2p4", "host", message);

  EXPECT_GT(host.value, 10 * message.real() / 163.8e9);
  EXPECT_LT(host.value, 1.08 * (message.real() / 20.5e9 + 0.5 * message.real() / 26.2e9));
  for (const char* other : {"flat", "ring", "knomial", "hierarchical"})
    EXPECT_GT(best_of("nop2p4", other, message) / host, 1.1) << other;
}

// What the others need of 64 KiB is written and read in one step, instead of two.
TEST(CollectiveFigures, ThroughTheHostInOneStepIsTheBestOfSmallMessagesWithoutPeerAccess) {
  const Seconds oneshot = best_of("nop2p4", "host-oneshot", 64_KiB);

  for (const char* other : {"host", "flat", "ring", "knomial", "hierarchical"})
    EXPECT_GT(best_of("nop2p4", other, 64_KiB) / oneshot, 1.2) << other;
}

CollectiveDraft draft_chosen(const char* name, Collective collective, Bytes message) {
  const Machine machine = load_machine(name);
  CollectivePlanner planner(machine, {});
  return planner.plan(request_of(machine, collective, message), {.paths = PathChoice::one})
      .chosen();
}

std::string chosen(const char* name, Collective collective, Bytes message) {
  return draft_chosen(name, collective, message).algorithm->name;
}

// Written there once for all who read it, or along trees.
bool is_through_the_host(const CollectiveDraft& draft) {
  return draft.tuning.by_hosts || std::string_view(draft.algorithm->name) == "host";
}

TEST(CollectiveChoice, IsThroughTheHostWithoutPeerAccess) {
  for (const Collective collective : all_collectives())
    if (collective != Collective::all_to_all_v)
      EXPECT_TRUE(is_through_the_host(draft_chosen("nop2p4", collective, 64_MiB)));
  EXPECT_EQ(chosen("nop2p4", Collective::all_reduce, 64_KiB), "host-oneshot");
  EXPECT_NE(chosen("h200x4", Collective::all_reduce, 64_MiB), "host");
}

// Eight GPUs behind two PCIe switches, whose uplinks are as wide as a GPU's link. Each sends to two
// others along the chain and gets from two; in turn no rank receives from both at once.
Machine two_switches() {
  Machine machine;
  machine.name = "switches";
  const auto add = [&](const std::string& name, BytesPerSecond rate, int copies) {
    machine.resources.push_back({name, copies > 0 ? "engine" : "pcie", rate});
    machine.resources.back().copies_at_once = copies;
    return ResourceId{static_cast<std::int32_t>(machine.resources.size()) - 1};
  };
  const BytesPerSecond link = 24.8_GBps;
  std::vector<std::array<ResourceId, 4>> of_gpu;
  for (int gpu = 0; gpu < 8; ++gpu) {
    const std::string name = "gpu" + std::to_string(gpu);
    machine.places.push_back({name, PlaceKind::gpu, "", 0, 7_us});
    machine.places.back().reduction_bandwidth = 650_GBps;
    of_gpu.push_back({add(name + ".out", link, 0), add(name + ".in", link, 0),
                      add(name + ".total", 42.3_GBps, 0),
                      add(name + ".peer", BytesPerSecond::infinity(), 1)});
  }
  const std::array uplinks = {add("sw0.out", link, 0), add("sw1.out", link, 0)};
  for (int from = 0; from < 8; ++from)
    for (int to = 0; to < 8; ++to) {
      if (from == to) continue;
      const auto& sent = of_gpu[static_cast<std::size_t>(from)];
      const auto& got = of_gpu[static_cast<std::size_t>(to)];
      std::vector<Use> uses = {{sent[0]}, {sent[2]}, {sent[3]}, {got[1]}, {got[2]}};
      if (from / 4 != to / 4) uses.push_back({uplinks[static_cast<std::size_t>(from / 4)]});
      machine.hops.push_back({{from}, {to}, HopKind::peer, 3.3_us, link, uses});
    }
  return machine;
}

TEST(CollectiveChoice, HasCopiesTakeTurnsWhereTheyShareAnEngineAndThatGains) {
  const Machine machine = two_switches();
  CollectivePlanner planner(machine, {});
  const CollectiveOptions by_chain{.algorithms = {"chain"}};

  const CollectivePlan large =
      planner.plan(request_of(machine, Collective::all_reduce, 256_MiB), by_chain);
  const CollectivePlan small =
      planner.plan(request_of(machine, Collective::all_reduce, 1_MiB), by_chain);

  EXPECT_TRUE(large.chosen().tuning.in_turn);
  EXPECT_FALSE(small.chosen().tuning.in_turn);
  EXPECT_NEAR(simulated(machine, large) / large.chosen().predicted, 1, 0.02);
}

// No driver opens memory of a GPU that is out of reach to another process.
TEST(CollectiveChoice, OfRanksOfTheirOwnWithoutPeerAccessIsThroughTheHost) {
  for (const char* name : {"nop2p4", "mist"}) {
    const Machine machine = load_machine(name);
    CollectivePlanner planner(machine, {});

    const CollectivePlan plan = planner.plan(request_of(machine, Collective::all_reduce, 64_MiB),
                                             {.paths = PathChoice::one, .private_memory = true});

    EXPECT_TRUE(is_through_the_host(plan.chosen())) << name;
    for (const AlgorithmDecision& each : plan.decisions)
      if (std::string_view(each.draft.algorithm->name) == "flat") {
        EXPECT_EQ(each.draft.predicted, Seconds::infinity()) << name;
        EXPECT_THAT(each.reason, testing::HasSubstr("out of reach")) << name;
      }
  }
}

std::string chosen_of_ranks(std::size_t ranks, Collective collective, Bytes message) {
  const Machine machine = load_machine("h200x4");
  CollectivePlanner planner(machine, {});
  auto gpus = machine.places_of(PlaceKind::gpu);
  gpus.resize(ranks);
  const auto request =
      with_message({.collective = collective, .ranks = gpus, .elements = 1}, message);
  return planner.plan(request, {.paths = PathChoice::one, .divided = true})
      .chosen()
      .algorithm->name;
}

// Copies of one GPU to three others hold each other up unless they go in turn, which takes large
// blocks.
TEST(CollectiveChoice, OfFourRanksOfTheirOwnIsKernelsUntilTurnsPay) {
  EXPECT_EQ(chosen_of_ranks(4, Collective::all_reduce, 256_MiB), "twoshot");
  EXPECT_EQ(chosen_of_ranks(4, Collective::all_reduce, 1_GiB), "twoshot-copies");
  EXPECT_EQ(chosen_of_ranks(4, Collective::all_to_all, 64_MiB), "oneshot");
  EXPECT_EQ(chosen_of_ranks(4, Collective::all_to_all, 1_GiB), "exchange");
  EXPECT_EQ(chosen_of_ranks(4, Collective::all_gather, 1_GiB), "exchange");
  EXPECT_EQ(chosen_of_ranks(2, Collective::all_reduce, 1_GiB), "flat");
}

// All of the message crosses the sockets' link twice each way flat, and once as a chain.
TEST(CollectiveFigures, ChainBeatsFlatOnMist) {
  EXPECT_GT(best_of("mist", "flat", 64_MiB) / best_of("mist", "chain", 64_MiB), 1.5);
}

TEST(CollectiveFigures, RankOrderCostsLittleOnMist) {
  const Machine machine = load_machine("mist");
  CollectivePlanner planner(machine, {});
  for (const Bytes message : {64_KiB, 1_MiB, 16_MiB, 64_MiB}) {
    const CollectiveRequest request = request_of(machine, Collective::all_reduce, message);

    EXPECT_LE(simulated(machine, planner.plan(request)) /
                  simulated(machine, planner.plan(request, {.any_order = true})),
              1.1)
        << message.value;
  }
}

// As MPI libraries run it over a transport that splits messages (001, section 5.4): to the base 2,
// one message per step and pair, and no step before the last one is over.
double gain_of_several_paths(Collective collective, const char* algorithm, Bytes message) {
  const Machine machine = load_machine("beluga");
  const CollectiveRequest request = request_of(machine, collective, message);
  Settings settings;
  settings.collective_scratch =
      message * std::uint64_t{18};  // a slot for each of six, from three others
  Routes routes(machine, settings);
  const auto time = [&](bool several) {
    const Tuning tuning{.piece = message, .several_paths = several, .by_joint_plan = true};
    return simulated(
        machine, request,
        {build(find_algorithm(algorithm), machine, request, tuning, &routes), Executor::stream},
        settings);
  };
  return time(false) / time(true);
}

// 001 has up to 1.4 times for both. Reductions take the same over one path; ports of 134 GB/s and
// calls of 6 us leave less to Bruck's.
TEST(CollectiveFigures, SeveralPathsHelpKNomialOnBeluga) {
  EXPECT_GE(gain_of_several_paths(Collective::all_reduce, "knomial", 256_MiB), 1.3);
}

TEST(CollectiveFigures, SeveralPathsHelpBruckOnBeluga) {
  if (!test::is_long()) GTEST_SKIP() << "in the long form";
  EXPECT_GE(gain_of_several_paths(Collective::all_to_all, "bruck", 256_MiB), 1.2);
}

// What docs/collectives_figures.md states.
struct Gain {
  Collective collective;
  const char* algorithm;
  Bytes message;
  double stated;
};

class StatedGain : public ::testing::TestWithParam<Gain> {};

TEST_P(StatedGain, IsWhatSeveralPathsGainOnBeluga) {
  if (!test::is_long()) GTEST_SKIP() << "in the long form";
  const auto& [collective, algorithm, message, stated] = GetParam();

  EXPECT_NEAR(gain_of_several_paths(collective, algorithm, message), stated, 0.01);
}

INSTANTIATE_TEST_SUITE_P(Table, StatedGain,
                         ::testing::Values(Gain{Collective::all_reduce, "knomial", 64_MiB, 1.29},
                                           Gain{Collective::all_reduce, "knomial", 256_MiB, 1.41},
                                           Gain{Collective::all_to_all, "bruck", 64_MiB, 1.07},
                                           Gain{Collective::all_to_all, "bruck", 256_MiB, 1.25}));

// Whose links are idle but for one direction of a ring.
TEST(CollectiveFigures, SeveralPathsHelpTheRingOnBelugaInPieces) {
  EXPECT_GE(best_of("beluga", "ring", 64_MiB, PathChoice::one) /
                best_of("beluga", "ring", 64_MiB, PathChoice::several),
            1.3);
}

TEST(CollectiveFigures, AutomaticIsTheBestOfAllOnBeluga) {
  const Machine machine = load_machine("beluga");
  CollectivePlanner planner(machine, {});
  const Seconds automatic = simulated(
      machine,
      planner.plan(request_of(machine, Collective::all_reduce, 64_MiB), {.any_order = true}));

  for (const char* name : {"flat", "hierarchical", "ring", "knomial"})
    EXPECT_LE(automatic / best_of("beluga", name, 64_MiB), 1.0001) << name;
}

TEST(CollectivePlanner, ListsTheAlgorithmsWithTheFastestFirst) {
  const Machine machine = load_machine("cedar");
  CollectivePlanner planner(machine, {});

  const CollectivePlan plan =
      planner.plan(request_of(machine, Collective::all_reduce, 64_MiB), {.any_order = true});

  ASSERT_GE(plan.decisions.size(), 3U);
  EXPECT_TRUE(plan.decisions.front().chosen);
  for (std::size_t i = 1; i < plan.decisions.size(); ++i) {
    EXPECT_FALSE(plan.decisions[i].chosen);
    EXPECT_LE(plan.decisions[i - 1].draft.predicted, plan.decisions[i].draft.predicted);
    EXPECT_THAT(plan.decisions[i].reason, testing::HasSubstr("times as long"));
  }
}

// Messages are played shorter than they are, and small pieces of them last as long as their calls.
TEST(CollectivePlanner, GivesLongMessagesTheTimeThatTheirBytesNeed) {
  const Machine machine = load_machine("h200x8");
  const auto time_of = [&](Bytes message) {
    CollectivePlanner planner(machine, {});
    const auto request = request_of(machine, Collective::all_to_all, message);
    return planner.choose(request).chosen().predicted;
  };

  const Seconds sixteenth = time_of(4_GiB), whole = time_of(64_GiB);

  EXPECT_NEAR(whole / sixteenth, 16, 0.5);
  const auto gpus = machine.places_of(PlaceKind::gpu);
  const HopId hop = *machine.find_hop(gpus[0], gpus[1]);
  EXPECT_GE(sixteenth, 3_GiB / machine.hop(hop).bandwidth);
}

class ChoosingTakesAsLongForAnySize : public testing::TestWithParam<std::tuple<const char*, bool>> {
};

// Programs played, in nodes: of 64 GiB not many more than of 64 MiB. The last one that is tried may
// be as long as all before it.
TEST_P(ChoosingTakesAsLongForAnySize, InNodesPlayed) {
  constexpr std::size_t kMost = 20'000;
  const auto [name, divided] = GetParam();
  const Machine machine = load_machine(name);
  for (const Collective collective : all_collectives())
    for (const Bytes message : {64_MiB, 1_GiB, 64_GiB}) {
      CollectivePlanner planner(machine, {});
      (void)planner.choose(request_of(machine, collective, message), {.divided = divided});
      EXPECT_LE(planner.played(), kMost) << name_of(collective) << describe_bytes(message);
    }
}

INSTANTIATE_TEST_SUITE_P(Machines, ChoosingTakesAsLongForAnySize,
                         testing::Combine(testing::Values("h200x4", "beluga", "narval", "mist",
                                                          "h200x8"),
                                          testing::Bool()));

// Where every two GPUs have a link, trees are the exchange itself.
TEST(CollectivePlanner, PlaysProgramsThatAreAlikeOnce) {
  const Machine machine = load_machine("beluga");
  const CollectiveRequest request = request_of(machine, Collective::all_to_all, 64_MiB);
  const auto played = [&](std::vector<std::string> algorithms) {
    CollectivePlanner planner(machine, {});
    const CollectivePlan plan =
        planner.choose(request, {.paths = PathChoice::one, .algorithms = std::move(algorithms)});
    return std::pair(planner.played(), plan.chosen().predicted);
  };
  EXPECT_GT(played({"trees"}).first, 0U);
  EXPECT_EQ(played({"exchange", "trees"}), played({"exchange"}));
  EXPECT_EQ(played({"trees"}), played({"exchange"}));
}

// What is chosen is as fast as the fastest, not by prediction only; and of those in rank order as
// fast as the fastest of them.
void expect_fastest(const Machine& machine, const CollectiveRequest& request) {
  CollectivePlanner planner(machine, {});
  const auto time_of = [&](const CollectiveOptions& options) {
    return simulated(machine, planner.plan(request, options));
  };
  const CollectivePlan all = planner.plan(request, {.paths = PathChoice::one, .any_order = true});
  Seconds best = Seconds::infinity(), best_in_order = best;

  for (const AlgorithmDecision& each : all.decisions) {
    const Algorithm& algorithm = *each.draft.algorithm;
    const Seconds time = time_of({.paths = PathChoice::one, .algorithms = {algorithm.name}});
    best = std::min(best, time);
    if (algorithm.keeps_order(machine, request)) best_in_order = std::min(best_in_order, time);
  }

  EXPECT_LE(simulated(machine, all) / best, 1.05);
  EXPECT_LE(time_of({.paths = PathChoice::one}) / best_in_order, 1.05);
}

TEST(CollectivePlanner, ChoosesWhatIsFastestEverywhere) {
  for (const char* name : {"beluga", "cedar", "mist", "h200x4", "nop2p4", "pcie4", "synthetic:3"}) {
    const Machine machine = load_machine(name);
    for (const Collective collective : all_collectives())
      for (const Bytes message :
           short_or_long<std::vector<Bytes>>({64_KiB, 64_MiB}, {64_KiB, 4_MiB, 64_MiB})) {
        SCOPED_TRACE(testing::Message()
                     << name << " " << name_of(collective) << " " << message.value);
        expect_fastest(machine, request_of(machine, collective, message));
      }
  }
}

// Rounding depends on the order of floating-point sums, products and averages only.
TEST(CollectivePlanner, LeavesOtherOrdersOutWhereTheyRoundDifferently) {
  const Machine machine = load_machine("mist");
  CollectivePlanner planner(machine, {});
  CollectiveRequest request = request_of(machine, Collective::all_reduce, 1_MiB);
  const auto others = [&](ReduceOperator operation, ElementType type, bool any_order = false) {
    request.reduction = {operation, type};
    const CollectivePlan plan =
        planner.plan(request, {.paths = PathChoice::one, .any_order = any_order});
    return std::any_of(plan.decisions.begin(), plan.decisions.end(), [](const auto& each) {
      return each.draft.algorithm == &find_algorithm("knomial");
    });
  };

  EXPECT_FALSE(others(ReduceOperator::sum, ElementType::float32));
  EXPECT_FALSE(others(ReduceOperator::average, ElementType::bfloat16));
  EXPECT_TRUE(others(ReduceOperator::sum, ElementType::float32, true));
  EXPECT_TRUE(others(ReduceOperator::maximum, ElementType::float32));
  EXPECT_TRUE(others(ReduceOperator::product, ElementType::int64));
}

// Half as large pieces do not make a kernel's message shorter.
TEST(CollectivePlanner, PredictsKernelsAsTheyRun) {
  for (const char* name : {"h200x8", "synthetic:59", "synthetic:24"})
    for (const Collective collective : {Collective::broadcast, Collective::all_gather}) {
      const Machine machine = load_machine(name);
      CollectivePlanner planner(machine, {});

      const CollectivePlan plan =
          planner.plan(request_of(machine, collective, 256_MiB), {.algorithms = {"oneshot"}});

      const Seconds taken = simulated(machine, plan);
      EXPECT_NEAR(plan.chosen().predicted / taken, 1, 0.01) << name << name_of(collective);
    }
}

// Each byte crosses the narrow link between the sockets once, and is handed on there.
TEST(CollectiveFigures, TreesBeatExchangesOnMist) {
  const Machine machine = load_machine("mist");
  CollectivePlanner planner(machine, {});
  const CollectiveRequest request = request_of(machine, Collective::all_gather, 256_MiB);
  const auto time_of = [&](const char* algorithm) {
    return simulated(machine, planner.plan(request, {.algorithms = {algorithm}}));
  };

  const Seconds trees = time_of("trees");

  EXPECT_GE(time_of("exchange") / trees, 1.7);
  EXPECT_LE(trees, 3000_us);  // 2.62 ms by the link between the sockets
}

TEST(CollectivePlanner, UsesWhatTheCallerNames) {
  const Machine machine = load_machine("cedar");
  CollectivePlanner planner(machine, {});
  const CollectiveRequest request = request_of(machine, Collective::all_reduce, 1_MiB);

  const CollectivePlan plan = planner.plan(
      request, {.executor = Executor::graph, .paths = PathChoice::one, .algorithms = {"ring"}});

  ASSERT_EQ(plan.decisions.size(), 1U);
  EXPECT_STREQ(plan.chosen().algorithm->name, "ring");
  EXPECT_EQ(plan.program->executor, Executor::graph);
  EXPECT_FALSE(plan.chosen().tuning.several_paths);
  expect_invalid_argument([&] { (void)planner.plan(request, {.executor = Executor::native}); },
                          "native", "stream or graph");
  expect_invalid_argument([&] { (void)planner.plan(request, {.algorithms = {"exchange"}}); },
                          "allreduce", "exchange", "flat");
}

}  // namespace
}  // namespace polypath::test::choose_test
