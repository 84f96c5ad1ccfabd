// Plans beside the best that a search over all sets of paths finds.

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/planning.h"
#include "support/effort.h"
#include "support/random.h"

namespace polypath::test::every_subset_test {
namespace {

using Rig = PlannerRig;

constexpr std::size_t kMostPaths = 6;  // of a search: 63 sets
constexpr double kClose = 1.05;        // of a plan to the best that is found

// Shares that end together, from the papers' shares on, and chunk counts around the papers' ones.
Seconds best_over(const Splitter& splitter, const std::vector<Path>& paths) {
  Seconds best = Seconds::infinity();
  for (const double factor : {0.5, 1.0}) {
    Draft draft = splitter.closed_form_split(paths);
    for (PathDraft& part : draft.paths) part.chunks = std::max(1.0, part.chunks * factor);
    splitter.evaluate(draft);
    best = std::min(best, draft.prediction.time);
    for (int round = 0; round < 3 && splitter.level(draft); ++round) {
      splitter.evaluate(draft);
      best = std::min(best, draft.prediction.time);
    }
  }
  return best;
}

Seconds best_of_all_subsets(const Splitter& splitter, std::vector<Path> paths) {
  Seconds best = Seconds::infinity();
  paths.resize(std::min(paths.size(), kMostPaths));
  for (unsigned set = 1; set < 1U << paths.size(); ++set) {
    std::vector<Path> subset;
    for (std::size_t p = 0; p < paths.size(); ++p)
      if ((set >> p & 1U) != 0) subset.push_back(paths[p]);
    best = std::min(best, best_over(splitter, subset));
  }
  return best;
}

// How many times as long the plan takes as the best that is found. A native copy need not be beaten
// by less than planning asks for.
double distance(Planner& planner, const Hop& hop, Bytes bytes, BothWays both_ways) {
  PlanOptions options;
  options.both_ways = both_ways;
  const PlanPointer plan = planner.plan(hop.source, hop.destination, bytes, options);
  const bool native = plan->executor() == Executor::native;
  const Settings& settings = planner.settings();
  const DraftLimits limits{.chunks = {settings.min_chunk, settings.staging_slot},
                           .slots = settings.staging_slots,
                           .max_paths = settings.max_paths,
                           .both_ways = both_ways != BothWays::no};
  const Splitter splitter(planner.predictor(), limits, native ? Executor::stream : plan->executor(),
                          bytes);
  const auto paths = planner.usable_paths(hop.source, hop.destination, options);
  const Seconds best = best_of_all_subsets(splitter, paths);
  const bool gains =
      best < planner.to_beat(paths.front(), bytes, plan->native_predicted, both_ways);
  return native && !gains ? 1 : plan->predicted / best;
}

TEST(EverySubset, IsHardlyBetterThanThePlan) {
  for (const std::string& name : zoo_and_synthetic(test::short_or_long(8, 40))) {
    Rig rig(name);
    Random random(3);
    const Hop& hop = random.pick(rig.machine.hops);
    for (const BothWays both_ways : {BothWays::no, BothWays::by_processes}) {
      SCOPED_TRACE(name + " from " + rig.machine.place(hop.source).name + " to " +
                   rig.machine.place(hop.destination).name +
                   (both_ways == BothWays::no ? "" : " and back"));

      EXPECT_LT(distance(rig.planner, hop, 16_MiB, both_ways), kClose);
    }
  }
}

// Shares were leveled by when paths end one way, which made plans for both a third slower there.
TEST(EverySubset, IsHardlyBetterWhereBothWaysContend) {
  Rig rig("synthetic:20");
  const Hop& hop = rig.machine.hop(*rig.machine.find_hop(kGpu0, kGpu1));

  EXPECT_LT(distance(rig.planner, hop, 64_MiB, BothWays::by_processes), kClose);
}

// Two paths over two hosts, and none direct: with half as many chunks 6 % earlier.
TEST(EverySubset, IsHardlyBetterWhereAllPathsStage) {
  Rig rig("synthetic:90");
  const Hop& hop = rig.machine.hop(*rig.machine.find_hop(kGpu1, kGpu0));

  EXPECT_LT(distance(rig.planner, hop, 8_MiB, BothWays::no), kClose);
}

}  // namespace
}  // namespace polypath::test::every_subset_test
