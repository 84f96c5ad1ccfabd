// Joint plans against the best that a search finds: every split of a grid on small machines, and a
// random search on machines of all kinds.

#include "plan/joint_search.h"

#include <gtest/gtest.h>

#include <iostream>

#include "model/mesh.h"
#include "support/effort.h"
#include "support/sanitizers.h"

namespace polypath::test::joint_search_test {
namespace {

// --- every split of a grid ---

// All ways to split 1 over `paths` paths in steps of 1/kSteps.
constexpr int kSteps = 10;

void splits(std::size_t paths, int left, std::vector<int>& split,
            std::vector<std::vector<int>>& all) {
  if (split.size() + 1 == paths) {
    all.push_back(split);
    all.back().push_back(left);
    return;
  }
  for (int part = 0; part <= left; ++part) {
    split.push_back(part);
    splits(paths, left - part, split, all);
    split.pop_back();
  }
}

Draft draft_of(const JointPredictor& predictor, std::size_t transfer, const std::vector<int>& split,
               double chunk_factor) {
  Draft draft;
  const std::vector<Path>& paths = predictor.problem().paths[transfer];
  const double size = predictor.problem().transfers[transfer].bytes.real();
  for (std::size_t p = 0; p < paths.size(); ++p) {
    const double share = static_cast<double>(split[p]) / kSteps;
    if (share <= 0) continue;
    const Bytes bytes{static_cast<std::uint64_t>(size * share)};
    const double chunks = predictor.splitter(transfer).chunk_count(paths[p], bytes);
    draft.paths.push_back({paths[p], share, std::max(1.0, chunks * chunk_factor), 0});
  }
  return draft;
}

Seconds best_of_grid(const JointSearch& search) {
  const auto& paths = search.predictor().problem().paths;
  std::vector<std::vector<int>> first, second;
  std::vector<int> none;
  splits(paths[0].size(), kSteps, none, first);
  splits(paths[1].size(), kSteps, none, second);
  Seconds best = Seconds::infinity();
  for (const double factor : {0.5, 1.0})
    for (const auto& a : first)
      for (const auto& b : second)
        best = std::min(best, search.last_of({draft_of(search.predictor(), 0, a, factor),
                                              draft_of(search.predictor(), 1, b, factor)}));
  return best;
}

TEST(JointSearch, NoSplitOfAGridIsMuchBetter) {
  Random random(1);
  for (int round = 0; round < (kSanitized ? 1 : 4); ++round) {
    SCOPED_TRACE(round);
    Machine machine = mesh_machine(random.integer(3, 4), 2_us);
    for (Hop& hop : machine.hops) {
      const double rate = 1e9 * random.integer(4, 20);
      hop.bandwidth = {rate};
      machine.resources[hop.uses.front().resource.index()].capacity = {rate};
    }
    JointRig rig(machine);
    const Bytes size = 8_MiB * random.between(1, 8);
    const std::vector<JointTransfer> set{
        between(0, 1, size), random.chance(50) ? between(1, 0, size * 2) : between(0, 2, 16_MiB)};

    const auto joint = rig.plan(set, Issuers::processes, Executor::stream);

    const JointSearch search(rig.planner, set, Issuers::processes, Executor::stream,
                             Seconds::infinity());
    EXPECT_LE(joint->predicted, best_of_grid(search) * 1.03);
    EXPECT_GE(joint->predicted, joint->flow_bound);
  }
}

// --- random sets on random machines ---

struct Question {
  std::vector<JointTransfer> set;
  Issuers issuers;
};

Question random_question(const Machine& machine, Random& random) {
  Question question{.set = {}, .issuers = static_cast<Issuers>(random.integer(0, 2))};
  for (int left = random.integer(2, 6); left > 0; --left) {
    const Hop& hop = random.pick(machine.hops);
    const Bytes bytes{random.between(1 << 20, 1 << 21) << random.integer(0, 7)};
    question.set.push_back({hop.source, hop.destination, bytes});
  }
  return question;
}

// What the set's end must stay below to be worth anything.
Seconds to_beat(const Planner& planner, const Question& question, const JointPlan& joint) {
  std::size_t last = 0;
  for (std::size_t k = 0; k < joint.plans.size(); ++k)
    if (joint.plans[k]->native_predicted > joint.plans[last]->native_predicted) last = k;
  const JointTransfer& slowest = question.set[last];
  const Path direct = planner.usable_paths(slowest.source, slowest.destination).front();
  return planner.to_beat(direct, slowest.bytes, joint.native_predicted,
                         as_both_ways(question.issuers));
}

constexpr int kTries = 60;

// The best end that the search finds, if it is clearly worth it; else the native one.
Seconds best_found(JointRig& rig, const Question& question, const JointPlan& joint,
                   Random& random) {
  const Seconds needed = to_beat(rig.planner, question, joint);
  Seconds best = Seconds::infinity();
  for (const Executor executor : {Executor::stream, Executor::graph}) {
    const JointSearch search(rig.planner, question.set, question.issuers, executor, needed);
    best = std::min(best, search.climb(search.natively(), kTries, random));
    best = std::min(best, search.climb(drafts_of(joint), kTries, random));
  }
  return std::min(best < needed ? best : joint.native_predicted, joint.predicted);
}

// From the host next to each GPU to it, or back: found to be native without a search.
TEST(JointSearch, CopiesThatKeepAllLinksBusyGainNothing) {
  Random random(3);
  for (const char* const name : {"h200x8", "dgx-a100", "beluga", "pcie4", "synthetic:4"}) {
    SCOPED_TRACE(name);
    JointRig rig(name);
    Question question{.set = {}, .issuers = static_cast<Issuers>(random.integer(0, 2))};
    const bool in = random.chance(50);
    const Bytes bytes = random.chance(50) ? 1_MiB : 64_MiB;
    for (const PlaceId gpu : rig.machine.places_of(PlaceKind::gpu)) {
      const PlaceId host = rig.machine.nearest_host(gpu);
      question.set.push_back({in ? host : gpu, in ? gpu : host, bytes});
    }

    const auto joint = rig.plan(question.set, question.issuers);

    EXPECT_LE(joint->predicted, best_found(rig, question, *joint, random) * 1.01);
  }
}

// Each part of a hundred seeds, so that parts can run beside each other.
class JointProperty : public testing::TestWithParam<int> {};

TEST_P(JointProperty, PlansAreNearTheBestFoundAndHarmNobody) {
  const int seeds = kSanitized ? 5 : short_or_long(15, 50);
  double sum = 0, worst = 0;
  int far = 0;
  for (int seed = GetParam() * 50; seed < GetParam() * 50 + seeds; ++seed) {
    SCOPED_TRACE(seed);
    JointRig rig("synthetic:" + std::to_string(seed));
    Random random(static_cast<std::uint64_t>(seed));
    const Question question = random_question(rig.machine, random);

    const auto joint = rig.plan(question.set, question.issuers);

    EXPECT_LE(regret(*joint), kAsGoodAsNatively);
    EXPECT_LE(joint->predicted, joint->native_predicted);
    EXPECT_GE(joint->predicted, joint->flow_bound);
    const double ratio = joint->predicted / best_found(rig, question, *joint, random);
    sum += ratio, worst = std::max(worst, ratio);
    far += ratio > 1.05 ? 1 : 0;
  }
  std::cout << "mean " << sum / seeds << ", worst " << worst << ", beyond 5 %: " << far << "\n";
  EXPECT_LE(sum / seeds, 1.015);
  EXPECT_EQ(far, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, JointProperty, testing::Range(0, 4));

}  // namespace
}  // namespace polypath::test::joint_search_test
