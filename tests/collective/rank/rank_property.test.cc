// Programs divided among ranks, one after another without the host waiting in between, by ranks of
// which some are late: right, no race, no flag left set, nothing leaked.

#include <gmock/gmock.h>

#include <cstring>

#include "collective/support/rank_group.h"
#include "collective/support/ranks.h"
#include "machine/load_machine.h"
#include "support/random.h"

namespace polypath::test::rank_property_test {
namespace {

// One after the other, on memory of its own.
struct Step {
  CollectiveRequest request;
  RankPrograms programs;
  std::unique_ptr<RankBuffers> buffers;
  std::string what;
};

CollectiveRequest random_request(Random& random, const std::vector<PlaceId>& ranks,
                                 Collective collective) {
  CollectiveRequest request{.collective = collective, .ranks = ranks};
  request.elements = random.between(1, random.chance(50) ? 64 : 20'000);
  request.reduction = random_reduction(random);
  request.root = random.integer(0, request.size() - 1);
  request.in_place = random.chance(50);
  return request;
}

Step random_step(Random& random, RankGroup& group, const Machine& machine,
                 const std::vector<PlaceId>& ranks) {
  Step step;
  step.request = random_request(random, ranks, random.pick(all_collectives()));
  std::vector<Algorithm> able;
  for (const Algorithm& each : algorithms())
    if (each.does(machine, step.request)) able.push_back(each);
  const Algorithm algorithm = random.pick(able);
  const Tuning tuning{.piece = {random.between(256, 32'768)},
                      .radix = random.integer(2, 8),
                      .several_paths = random.chance(20),
                      .by_hosts = random.chance(40),
                      .in_phases = random.chance(40),
                      .in_turn = random.chance(30)};
  Routes routes(machine, collective_settings());
  const Executor executor = random.chance(30) ? Executor::graph : Executor::stream;
  step.programs =
      divide(machine, build(algorithm, machine, step.request, tuning, &routes), ranks, executor);
  step.buffers = std::make_unique<RankBuffers>(group.driver(), step.request);
  step.what = std::string(algorithm.name) + " " + name_of(step.request.collective) + " by " +
              name_of(executor) + (step.request.in_place ? ", in place" : "");
  return step;
}

// The ranks take turns in any order, and some of them do something else meanwhile.
void enqueue_all(Random& random, RankGroup& group, const std::vector<Step>& steps) {
  std::vector<std::size_t> next(static_cast<std::size_t>(group.size()), 0);
  const auto late = static_cast<double>(random.integer(0, 3));
  for (std::size_t left = next.size() * steps.size(); left > 0; --left) {
    std::size_t rank = random.index(next.size());
    while (next[rank] == steps.size()) rank = (rank + 1) % next.size();
    const Step& step = steps[next[rank]++];
    const double wait = random.chance(40) ? late * random.integer(0, 300) * 1e-6 : 0;
    group.enqueue(static_cast<int>(rank), step.programs, step.buffers->addresses(), Seconds{wait});
  }
}

void expect_all_right(Random& random, const Machine& machine, const std::vector<PlaceId>& ranks,
                      int count) {
  RankGroup group(machine, ranks);
  std::vector<Step> steps;
  for (int i = 0; i < count; ++i) {
    steps.push_back(random_step(random, group, machine, ranks));
    group.prepare(steps.back().programs);
    steps.back().buffers->fill();
  }
  enqueue_all(random, group, steps);
  group.synchronize();
  for (std::size_t i = 0; i < steps.size(); ++i)
    EXPECT_TRUE(steps[i].buffers->right()) << "step " << i << ": " << steps[i].what;
  EXPECT_EQ(group.flags_set(), 0);
  steps.clear();
  EXPECT_THAT(group.close(), testing::IsEmpty());
}

std::vector<PlaceId> random_ranks(Random& random, const Machine& machine, int count) {
  std::vector<PlaceId> gpus = machine.places_of(PlaceKind::gpu);
  for (std::size_t i = gpus.size(); i > 1; --i) std::swap(gpus[i - 1], gpus[random.index(i)]);
  gpus.resize(static_cast<std::size_t>(count));
  return gpus;
}

TEST(AnyRanks, AreRightOnAnyMachine) {
  Random random(13);
  for (int number = 0; number < 60 && !testing::Test::HasFailure(); ++number) {
    const std::uint64_t seed = random.between(1, 1000);
    SCOPED_TRACE(testing::Message() << "case " << number << ", synthetic:" << seed);
    const Machine machine = synthetic_machine(seed);
    const int gpus = static_cast<int>(machine.places_of(PlaceKind::gpu).size());
    expect_all_right(random, machine, random_ranks(random, machine, random.integer(2, gpus)), 4);
  }
}

class RanksOfSize : public testing::TestWithParam<int> {};

TEST_P(RanksOfSize, AreRight) {
  Random random(static_cast<std::uint64_t>(GetParam()));
  const Machine machine = load_machine("h200x8");
  for (int number = 0; number < 4 && !testing::Test::HasFailure(); ++number) {
    SCOPED_TRACE(testing::Message() << "case " << number);
    expect_all_right(random, machine, random_ranks(random, machine, GetParam()), 6);
  }
}
INSTANTIATE_TEST_SUITE_P(All, RanksOfSize, testing::Values(2, 3, 4, 5, 6, 7, 8));

// Each algorithm and collective at least once.
class AllAlgorithms : public testing::TestWithParam<const char*> {};

TEST_P(AllAlgorithms, AreRightWhenDivided) {
  const Machine machine = load_machine(GetParam());
  for (const Algorithm& algorithm : algorithms())
    for (const Collective collective : algorithm.collectives)
      for (const Executor executor : {Executor::stream, Executor::graph}) {
        SCOPED_TRACE(testing::Message() << algorithm.name << " " << name_of(collective));
        const CollectiveRequest request{
            .collective = collective, .ranks = first_gpus(machine, 4), .elements = 10'001};
        if (!algorithm.does(machine, request)) continue;
        RankGroup group(machine, request.ranks);
        const RankPrograms programs = divide(
            machine, build(algorithm, machine, request, {.piece = 8_KiB}), request.ranks, executor);
        group.prepare(programs);
        auto buffers = std::make_unique<RankBuffers>(group.driver(), request);
        buffers->fill();

        for (int run = 0; run < 2; ++run)
          for (int rank = 0; rank < group.size(); ++rank)
            group.enqueue(rank, programs, buffers->addresses());
        group.synchronize();

        EXPECT_TRUE(buffers->right()) << name_of(executor);
        EXPECT_EQ(group.flags_set(), 0);
        buffers.reset();
        EXPECT_THAT(group.close(), testing::IsEmpty());
      }
}

// With peer access and without, where flags and slots that several ranks read are in the host's
// memory: more pieces than slots.
INSTANTIATE_TEST_SUITE_P(On, AllAlgorithms, testing::Values("h200x4", "pcie4", "nop2p4", "mist"));

}  // namespace
}  // namespace polypath::test::rank_property_test
