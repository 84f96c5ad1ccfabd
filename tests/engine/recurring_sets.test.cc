// Copies that recur together get their parts of one joint plan: rounds do not differ, and none is
// slower than natively, with any issuers.

#include <gtest/gtest.h>

#include <set>

#include "engine/recurring_rounds.h"
#include "machine/load_machine.h"
#include "plan/joint/patterns.h"
#include "support/effort.h"

namespace polypath::test::recurring_sets_test {
namespace {

constexpr int kRounds = 30;
constexpr int kUntilKnown = 3;
constexpr double kRounding = 1e-3;

struct Pattern {
  std::string name;
  std::vector<JointTransfer> copies;
};

std::vector<JointTransfer> exchange(const Machine& machine, Bytes there, Bytes back) {
  const auto gpus = machine.places_of(PlaceKind::gpu);
  return {{gpus[0], gpus[1], there}, {gpus[1], gpus[0], back}};
}

std::vector<JointTransfer> pair_of_pairs(const Machine& machine, Bytes bytes) {
  const auto gpus = machine.places_of(PlaceKind::gpu);
  return {{gpus[0], gpus[1], bytes}, {gpus[2], gpus[3], bytes}};
}

std::vector<JointTransfer> from_host(const Machine& machine, Bytes bytes) {
  const auto gpus = machine.places_of(PlaceKind::gpu);
  return {{machine.nearest_host(gpus[0]), gpus[0], bytes},
          {machine.nearest_host(gpus[1]), gpus[1], bytes}};
}

// Rings, pairs and one GPU that feeds others only where there are enough GPUs.
std::vector<Pattern> patterns(const Machine& machine) {
  std::vector<Pattern> all{{"exchange", exchange(machine, 64_MiB, 64_MiB)},
                           {"of two sizes", exchange(machine, 256_MiB, 64_MiB)},
                           {"from the host", from_host(machine, 64_MiB)}};
  const std::size_t gpus = machine.places_of(PlaceKind::gpu).size();
  if (gpus > 2) all.push_back({"ring of three", pattern_of(machine, "ring", 64_MiB, 3)});
  if (gpus > 2) all.push_back({"to two", pattern_of(machine, "fan-out", 64_MiB, 3)});
  if (gpus > 3) {
    all.push_back({"ring of four", pattern_of(machine, "ring", 64_MiB, 4)});
    all.push_back({"to three", pattern_of(machine, "fan-out", 64_MiB, 4)});
    all.push_back({"pairs", pair_of_pairs(machine, 64_MiB)});
  }
  return all;
}

// How the copies of a round were done: executors, paths, shares and chunks.
std::vector<std::string> ways_of(const RecurringRounds& rounds) {
  std::vector<std::string> ways;
  for (const CopyResult& result : rounds.results())
    ways.push_back((result.plan ? result.plan->structure : "none") + " by " +
                   std::to_string(static_cast<int>(result.executor)));
  return ways;
}

Seconds natively(const Machine& machine, const Pattern& pattern, Issuers issuers) {
  Settings settings;
  settings.executor = "native";
  RecurringRounds rounds(machine, pattern.copies, issuers, settings);
  (void)rounds.run();
  return rounds.run();
}

void expect_steady(const Machine& machine, const Pattern& pattern, Issuers issuers) {
  SCOPED_TRACE(machine.name + ", " + pattern.name + ", " + name_of(issuers));
  const Seconds native = natively(machine, pattern, issuers);
  RecurringRounds rounds(machine, pattern.copies, issuers);
  for (int round = 0; round < kUntilKnown; ++round) (void)rounds.run();
  const auto known = ways_of(rounds);

  for (int round = kUntilKnown; round < kRounds; ++round) {
    const Seconds time = rounds.run();

    ASSERT_EQ(ways_of(rounds), known) << "in round " << round;
    ASSERT_GE(native / time, 1 - kRounding) << "in round " << round;
  }
}

class RecurringSets : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (is_left_out(GetParam(), {"narval", "synthetic:27"})) GTEST_SKIP() << "in the long form";
  }
};

INSTANTIATE_TEST_SUITE_P(Machines, RecurringSets,
                         testing::Values("beluga", "narval", "mist", "h200x4", "synthetic:3",
                                         "synthetic:11", "synthetic:27"),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

TEST_P(RecurringSets, OfOneThreadDoNotChangeAndAreNotSlowerThanNatively) {
  const Machine machine = load_machine(GetParam());
  for (const Pattern& pattern : patterns(machine))
    expect_steady(machine, pattern, Issuers::one_thread);
}

TEST_P(RecurringSets, OfThreadsDoNotChangeAndAreNotSlowerThanNatively) {
  const Machine machine = load_machine(GetParam());
  for (const Pattern& pattern : patterns(machine))
    expect_steady(machine, pattern, Issuers::threads);
}

TEST_P(RecurringSets, OfProcessesDoNotChangeAndAreNotSlowerThanNatively) {
  const Machine machine = load_machine(GetParam());
  for (const Pattern& pattern : patterns(machine))
    expect_steady(machine, pattern, Issuers::processes);
}

double gain(const std::string& machine_name, const std::string& pattern, Issuers issuers,
            int window = 1) {
  const Machine machine = load_machine(machine_name);
  const Pattern four{pattern, pattern_of(machine, pattern, 256_MiB, 4)};
  Settings settings;
  settings.executor = "native";
  RecurringRounds native(machine, four.copies, issuers, settings);
  RecurringRounds rounds(machine, four.copies, issuers);
  for (int round = 0; round < kUntilKnown; ++round) (void)native.run(window), rounds.run(window);
  return native.run(window) / rounds.run(window);
}

TEST(RecurringRings, GainWhoeverIssuesThem) {
  // Ports carry 0.93 of the sum of their links, and a call takes 6 us.
  EXPECT_GE(gain("beluga", "ring", Issuers::one_thread), 1.55);
  EXPECT_GE(gain("beluga", "ring", Issuers::threads), 1.95);
  EXPECT_GE(gain("beluga", "ring", Issuers::processes), 1.95);
  EXPECT_GE(gain("h200x4", "ring", Issuers::processes), 1.04);
}

TEST(RecurringRings, GainInQueues) {
  EXPECT_GE(gain("beluga", "ring", Issuers::one_thread, 16), 1.75);
  EXPECT_GE(gain("beluga", "ring", Issuers::processes, 16), 1.95);
}

// All parts are of one plan, so that the shares are those of the joint plan.
TEST(RecurringRings, OfProcessesAreTheJointPlan) {
  const Machine machine = load_machine("beluga");
  const auto ring = pattern_of(machine, "ring", 256_MiB, 4);
  Planner planner(machine, Settings{});
  JointPlanner joint_planner(planner);
  auto sorted = ring;
  std::sort(sorted.begin(), sorted.end());
  const auto joint =
      joint_planner.plan(sorted, {.issuers = Issuers::processes, .executor = Executor::stream});
  RecurringRounds rounds(machine, ring, Issuers::processes);

  for (int round = 0; round < kUntilKnown; ++round) (void)rounds.run();

  std::set<std::string> expected, found;
  for (const PlanPointer& plan : joint->plans) expected.insert(plan->structure);
  for (const CopyResult& result : rounds.results()) found.insert(result.plan->structure);
  EXPECT_EQ(found, expected);
}

// --- what is not known ---

// What is of another size each time would have to be planned anew each time.
TEST(ChangingSets, HaveNoJointPlan) {
  const Machine machine = load_machine("beluga");
  const auto ring = pattern_of(machine, "ring", 64_MiB, 4);
  Planner planner(machine, Settings{});
  JointPlanner joint_planner(planner);
  RecurringRounds rounds(machine, ring, Issuers::one_thread);

  for (int round = 0; round < short_or_long(4, 6); ++round) {
    for (CopyCall& call : rounds.calls())
      call.bytes = Bytes{ring[0].bytes.value - static_cast<std::uint64_t>(round) * (1 << 20)};
    (void)rounds.run();
    const Bytes bytes = rounds.calls()[0].bytes;
    const auto joint = joint_planner.plan(pattern_of(machine, "ring", bytes, 4));
    EXPECT_NE(rounds.results()[0].plan->structure, joint->plans[0]->structure);
  }
}

// One that stays away is forgotten, and the others go on as if it had never been there.
TEST(ChangingSets, AreThoseWhoStillCome) {
  const Machine machine = load_machine("beluga");
  const auto pairs = pair_of_pairs(machine, 64_MiB);
  for (const Issuers issuers : {Issuers::one_thread, Issuers::processes}) {
    RecurringRounds rounds(machine, pairs, issuers);
    RecurringRounds alone(machine, {pairs[0]}, issuers);
    for (int round = 0; round < kUntilKnown; ++round) (void)rounds.run(), (void)alone.run();

    rounds.calls().pop_back();
    for (int round = 0; round < 6; ++round) (void)rounds.run(), (void)alone.run();

    EXPECT_EQ(rounds.results()[0].plan->structure, alone.results()[0].plan->structure);
  }
}

// Others compute for long between two rounds.
TEST(RecurringRings, AreKnownAfterAPause) {
  const Machine machine = load_machine("beluga");
  RecurringRounds rounds(machine, pattern_of(machine, "ring", 64_MiB, 4), Issuers::processes);
  for (int round = 0; round < kUntilKnown; ++round) (void)rounds.run();
  const auto known = ways_of(rounds);

  rounds.pause(100'000_us);
  (void)rounds.run();

  EXPECT_EQ(ways_of(rounds), known);
}

}  // namespace
}  // namespace polypath::test::recurring_sets_test
