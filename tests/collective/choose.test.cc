// The choice among algorithms, and the figures of the papers' machines. All times are of the
// timeline or of the simulated driver, which repeat exactly.

#include "collective/choose.h"

#include <gmock/gmock.h>

#include "machine/load_machine.h"
#include "support/errors.h"
#include "support/ranks.h"

namespace polypath::test {
namespace {

CollectiveRequest request_of(const Machine& machine, Collective collective, Bytes message) {
  const auto gpus = machine.places_of(PlaceKind::gpu);
  return with_message({.collective = collective, .ranks = gpus, .elements = 1}, message);
}

// On the simulated driver, without bytes, the second time.
Seconds simulated(const Machine& machine, const CollectivePlan& plan) {
  sim::SimDriver driver(machine, sim::kTimingOnly);
  CollectiveRun runner(driver, machine, {});
  const PlaceId gpu = plan.request.ranks.front();
  const StreamHandle stream = driver.create_stream(gpu);
  std::vector<Address> buffers;
  for (int rank = 0; rank < plan.request.size(); ++rank)
    buffers.push_back(driver.allocate(plan.request.ranks[static_cast<std::size_t>(rank)],
                                      input_bytes(plan.request, rank) + 1_B));
  for (int rank = 0; rank < plan.request.size(); ++rank)
    buffers.push_back(driver.allocate(plan.request.ranks[static_cast<std::size_t>(rank)],
                                      output_bytes(plan.request, rank) + 1_B));
  Seconds taken;
  for (int run = 0; run < 2; ++run) {
    const Seconds start = driver.now();
    runner.run(*plan.program, buffers, stream, gpu);
    driver.synchronize(stream);
    taken = driver.now() - start;
  }
  return taken;
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

TEST(CollectivePlanner, ListsTheAlgorithmsWithTheFastestFirst) {
  const Machine machine = load_machine("cedar");
  CollectivePlanner planner(machine, {});

  const CollectivePlan plan = planner.plan(request_of(machine, Collective::all_reduce, 64_MiB));

  ASSERT_GE(plan.decisions.size(), 3U);
  EXPECT_STREQ(plan.chosen().algorithm->name, "flat");
  EXPECT_TRUE(plan.decisions.front().chosen);
  for (std::size_t i = 1; i < plan.decisions.size(); ++i) {
    EXPECT_FALSE(plan.decisions[i].chosen);
    EXPECT_LE(plan.decisions[i - 1].draft.predicted, plan.decisions[i].draft.predicted);
    EXPECT_THAT(plan.decisions[i].reason, testing::HasSubstr("times as long"));
  }
}

// What is chosen is as fast as the fastest, not by prediction only.
TEST(CollectivePlanner, ChoosesWhatIsFastestEverywhere) {
  for (const char* name : {"beluga", "cedar", "mist", "h200x4", "nop2p4", "pcie4", "synthetic:3"})
    for (const Collective collective : all_collectives())
      for (const Bytes message : {64_KiB, 4_MiB, 64_MiB}) {
        const Machine machine = load_machine(name);
        CollectivePlanner planner(machine, {});
        const CollectiveRequest request = request_of(machine, collective, message);
        const CollectivePlan automatic = planner.plan(request, {.paths = PathChoice::one});
        Seconds best = Seconds::infinity();

        for (const AlgorithmDecision& each : automatic.decisions)
          best = std::min(
              best, simulated(machine,
                              planner.plan(request, {.paths = PathChoice::one,
                                                     .algorithms = {each.draft.algorithm->name}})));

        EXPECT_LE(simulated(machine, automatic) / best, 1.05)
            << name << " " << name_of(collective) << " " << message.value;
      }
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
}  // namespace polypath::test
