// Splits on machines simple enough to know the best one.

#include "plan/single/optimiser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "machine/load_machine.h"
#include "model/coverage.h"
#include "plan/plan.h"
#include "support/hand_machine.h"
#include "support/random.h"

namespace polypath::test::optimiser_test {
namespace {

/// gpu0 and gpu1 with a direct hop at `direct`, and for each entry of `relays` one GPU more, with a
/// hop from gpu0 and one to gpu1 at that rate. Nothing is shared; latencies are 1 us, calls cost
/// 0.1 us.
Machine with_relays(BytesPerSecond direct, const std::vector<BytesPerSecond>& relays) {
  Machine machine;
  machine.name = "relays";
  const auto places = static_cast<int>(relays.size()) + 2;
  for (int gpu = 0; gpu < places; ++gpu)
    machine.places.push_back({"gpu" + std::to_string(gpu), PlaceKind::gpu, "", 0, 1_us});
  const auto add_hop = [&](int source, int destination, BytesPerSecond rate) {
    machine.hops.push_back({{source}, {destination}, HopKind::peer, 1_us, rate, {}});
  };
  add_hop(0, 1, direct);
  for (int relay = 2; relay < places; ++relay) {
    const BytesPerSecond rate = relays[static_cast<std::size_t>(relay) - 2];
    add_hop(0, relay, rate), add_hop(relay, 1, rate);
  }
  machine.costs = {0.1_us, 0.1_us, 0.1_us, 1_us, 1_us, 0.1_us, 10_us, 1_us, 0.1_us};
  return machine;
}

/// What is asked of the optimiser between gpu0 and gpu1.
struct Question {
  explicit Question(Machine wanted, Bytes size = 256_MiB, int max_paths = 16)
      : machine(std::move(wanted)),
        predictor(machine),
        paths(find_paths(machine, {0}, {1})),
        splitter(predictor, {{64_KiB, 8_MiB}, 4, max_paths}, Executor::stream, size),
        optimiser(splitter) {}

  Machine machine;
  Predictor predictor;
  std::vector<Path> paths;
  Splitter splitter;
  Optimiser optimiser;
};

double sum_of_shares(const Draft& draft) {
  return std::accumulate(draft.paths.begin(), draft.paths.end(), 0.0,
                         [](double sum, const PathDraft& part) { return sum + part.share; });
}

double share_of(const Draft& draft, const Path& path) {
  for (const PathDraft& part : draft.paths)
    if (part.path == path) return part.share;
  return 0;
}

void expect_direct_alone(const Question& question, const Draft& draft) {
  ASSERT_EQ(draft.paths.size(), 1U);
  EXPECT_EQ(draft.paths.front().path, question.paths.front());
}

void expect_together(const Draft& draft) {
  const auto& ends = draft.prediction.path_finish;
  const auto [first, last] = std::minmax_element(ends.begin(), ends.end());
  EXPECT_GT(*first / *last, 0.99) << first->value << " s and " << last->value << " s";
}

TEST(BestSubset, OfIndependentLinksUsesAllAndEndsTogether) {
  const Question question(with_relays(40_GBps, {40_GBps, 30_GBps, 10_GBps}));

  const Draft draft = question.optimiser.best_subset(question.paths);

  EXPECT_EQ(draft.paths.size(), 4U);
  expect_together(draft);
}

// 40 + 40 + 20 GB/s, latencies negligible: no less than 256 MiB / (100 GB/s), and shares of
// 0.4, 0.4 and 0.2 but for the pipelines' ends, which cost each staged path one chunk of about ten.
TEST(BestSubset, OfIndependentLinksIsNearTheSumOfTheirRates) {
  const Question question(with_relays(40_GBps, {40_GBps, 20_GBps}));
  const Seconds bound = 256_MiB / 100_GBps;

  const Draft draft = question.optimiser.best_subset(question.paths);

  EXPECT_GE(draft.prediction.time, bound);
  EXPECT_LT(draft.prediction.time, bound * 1.1);
  EXPECT_NEAR(share_of(draft, question.paths[0]), 0.4, 0.04);
  EXPECT_NEAR(share_of(draft, question.paths[1]), 0.4, 0.04);
  EXPECT_NEAR(share_of(draft, question.paths[2]), 0.2, 0.02);
}

TEST(BestSubset, OfRandomIndependentLinksEndsTogether) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    test::Random random(seed);
    std::vector<BytesPerSecond> relays;
    for (int left = random.integer(1, 4); left > 0; --left)
      relays.push_back({random.integer(10, 60) * 1e9});
    const Question question(with_relays({random.integer(10, 60) * 1e9}, relays));

    const Draft draft = question.optimiser.best_subset(question.paths);

    EXPECT_GT(draft.paths.size(), 1U);
    expect_together(draft);
  }
}

// 1 MiB takes 26 us directly, and a relay that starts after 1 ms cannot help.
TEST(BestSubset, LeavesALateRelayIdle) {
  Machine machine = with_relays(40_GBps, {40_GBps});
  machine.hops[1].latency = 1000_us;
  const Question question(machine, 1_MiB);

  expect_direct_alone(question, question.optimiser.best_subset(question.paths));
}

// Both hops into gpu1 use a port that the direct copy alone fills.
TEST(BestSubset, LeavesARelayIdleBehindAFullPort) {
  Machine machine = with_relays(40_GBps, {40_GBps});
  machine.resources.push_back({"gpu1.ingress", "port", 40_GBps, 0});
  machine.hops[0].uses.push_back({{0}, 1});
  machine.hops[2].uses.push_back({{0}, 1});
  const Question question(machine);

  expect_direct_alone(question, question.optimiser.best_subset(question.paths));
}

TEST(BestSubset, OfTheDirectPathIsThatPath) {
  const Question question(with_relays(40_GBps, {}));

  const Draft draft = question.optimiser.best_subset(question.paths);

  expect_direct_alone(question, draft);
  EXPECT_EQ(draft.paths.front().share, 1);
}

TEST(BestSubset, KeepsToTheMostPaths) {
  for (int most = 1; most <= 4; ++most) {
    const Question question(with_relays(40_GBps, {30_GBps, 40_GBps, 20_GBps}), 256_MiB, most);

    const Draft draft = question.optimiser.best_subset(question.paths);

    EXPECT_EQ(draft.paths.size(), static_cast<std::size_t>(most));
  }
}

TEST(BestSubset, OfTwoTakesTheFasterRelay) {
  const Question question(with_relays(40_GBps, {10_GBps, 40_GBps}), 256_MiB, 2);

  const Draft draft = question.optimiser.best_subset(question.paths);

  EXPECT_EQ(share_of(draft, question.paths[1]), 0);
  EXPECT_GT(share_of(draft, question.paths[2]), 0.4);
}

TEST(BestSubset, IsNeverSlowerThanTheDirectPath) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    test::Random random(seed);
    const Question question(synthetic_machine(seed), Bytes{random.between(1 << 20, 1 << 28)});
    Draft direct{{PathDraft{question.paths.front(), 1, 1, 0}}, {}};
    question.splitter.evaluate(direct);

    const Draft draft = question.optimiser.best_subset(question.paths);

    EXPECT_LE(draft.prediction.time, direct.prediction.time * 1.002);
    EXPECT_NEAR(sum_of_shares(draft), 1, 0.01);
  }
}

// 64 MiB from a host of beluga to one of its GPUs take 5.42 ms directly and 1.41 ms over four PCIe
// links in 13 chunks, whose calls take 198 us; in 32 chunks they would take more than twice that.
TEST(BestSubset, HasLargeChunksWhereTheyTakeHardlyLonger) {
  const Machine machine = load_machine("beluga");
  const Predictor predictor(machine);
  const auto paths = find_paths(machine, machine.find_place("host0"), machine.find_place("gpu0"));
  const Splitter splitter(predictor, {{64_KiB, 8_MiB}, 4, 16}, Executor::stream, 64_MiB);

  const Draft best = Optimiser(splitter).best_subset(paths);

  EXPECT_LT(best.prediction.time, 1'415_us);
  EXPECT_LT(best.prediction.call, 205_us);
}

// What is gained is not given away for calls: with more and smaller chunks it would hardly be more.
TEST(BestSubset, KeepsWhatIsGained) {
  for (const char* name : {"h200x4", "dgx-a100", "mist", "narval"}) {
    SCOPED_TRACE(name);
    const Question question(load_machine(name));
    const Draft best = question.optimiser.best_subset(question.paths);
    Draft direct{{PathDraft{question.paths.front(), 1, 1, 0}}, {}};
    question.splitter.evaluate(direct);
    const Seconds gained = direct.prediction.time - best.prediction.time;

    for (const double factor : {1.25, 1.7}) {
      Draft finer = best;
      for (PathDraft& part : finer.paths) part.chunks *= factor;
      question.splitter.equalise_well(finer);

      EXPECT_LT(direct.prediction.time - finer.prediction.time, gained * 1.03);
    }
  }
}

// One engine makes all of gpu0's copies: directly at 20 GB/s, to the relay at 40, which passes them
// on at 10. Were the direct copy first, the relay would get nothing until it is over. With the
// relay's third in one chunk before it, both end at n/3/40 + n/3/10 = n/3/40 + 2n/3/20 = n/24 GB/s,
// where the direct copy alone takes n/20 GB/s.
TEST(BestSubset, IssuesARelayBeforeTheDirectCopyThatWouldKeepItsEngine) {
  Machine machine = with_relays(20_GBps, {40_GBps});
  machine.resources.push_back({"gpu0.engine", "engine", BytesPerSecond::infinity(), 1});
  for (Hop& hop : machine.hops) {
    if (hop.source == PlaceId{0}) hop.uses.push_back({ResourceId{0}, 1});
    else hop.bandwidth = 10_GBps;
  }
  const Question question(machine, 12_MiB);

  const Draft draft = question.optimiser.best_subset(question.paths);

  ASSERT_EQ(draft.paths.size(), 2U);
  EXPECT_EQ(draft.paths.back().path, question.paths.front());
  EXPECT_LT(draft.prediction.time.value, (12_MiB).real() / 24e9 * 1.03);
}

TEST(ClosedForm, GivesEveryPathSomething) {
  const Question question(with_relays(40_GBps, {40_GBps, 20_GBps, 1_GBps}));

  const Draft draft = question.splitter.closed_form(question.paths);

  ASSERT_EQ(draft.paths.size(), question.paths.size());
  for (const PathDraft& part : draft.paths) EXPECT_GT(part.share, 0);
  EXPECT_NEAR(sum_of_shares(draft), 1, 1e-9);
}

TEST(ClosedForm, GivesEvenAHopelessPathSomething) {
  Machine machine = with_relays(40_GBps, {40_GBps, 20_GBps});
  machine.hops[1].latency = 1000000_us;
  for (const Bytes bytes : {1_MiB, 64_MiB, 1_GiB}) {
    const Question question(machine, bytes);

    const Draft draft = question.splitter.closed_form(question.paths);

    ASSERT_EQ(draft.paths.size(), 3U);
    for (const PathShape& part : question.splitter.shape_of(draft).paths)
      EXPECT_FALSE(part.chunks.empty());
    EXPECT_EQ(question.splitter.shape_of(draft).paths.size(), 3U);
  }
}

// Eq. 24 with equal links and negligible latencies: nearly a third each, a little more for the
// direct path, which has no pipeline to fill.
TEST(ClosedForm, IsNearlyEvenOverEqualLinks) {
  const Question question(with_relays(40_GBps, {40_GBps, 40_GBps}));

  const Draft draft = question.splitter.closed_form(question.paths);

  for (const PathDraft& part : draft.paths) EXPECT_NEAR(part.share, 1.0 / 3, 0.03);
  EXPECT_GT(share_of(draft, question.paths[0]), share_of(draft, question.paths[1]));
}

// On the hand machine gpu0 and gpu2 into gpu1 share an ingress of 1 GB/s: the closed form does not
// know, and gives the path through gpu2 what it could carry alone.
TEST(ClosedForm, KnowsNoContention) {
  Machine without = test::hand_machine();
  for (Hop& hop : without.hops) hop.uses.clear();
  const Question shared(test::hand_machine());
  const Question alone(without);

  const Draft draft = shared.splitter.closed_form(shared.paths);
  const Draft expected = alone.splitter.closed_form(alone.paths);

  ASSERT_EQ(draft.paths.size(), expected.paths.size());
  EXPECT_NEAR(share_of(draft, shared.paths[1]), share_of(expected, alone.paths[1]), 1e-9);
  EXPECT_GT(draft.prediction.time, expected.prediction.time);
}

TEST(ShapeOf, CarriesTheWholeMessageInAlignedSlots) {
  test::Random random(3);
  const Machine machine = with_relays(40_GBps, {40_GBps, 20_GBps, 10_GBps});
  for (int round = 0; round < 200; ++round) {
    const Bytes message{random.between(1, 1 << 28)};
    const Question question(machine, message);
    Draft draft;
    for (const Path& path : question.paths)
      draft.paths.push_back({path, random.integer(0, 100) / 400.0,
                             static_cast<double>(random.integer(1, 300)), random.integer(0, 2)});

    const TransferShape shape = question.splitter.shape_of(draft);

    SCOPED_TRACE(message.value);
    EXPECT_EQ(shape.total(), message);
    for (const PathShape& part : shape.paths)
      for (const Bytes chunk : part.chunks)
        if (part.path.staged()) {
          EXPECT_LE(chunk, 8_MiB);
          EXPECT_EQ(chunk.value % 512, 0U);
        }
  }
}

// Bytes moved between paths may leave shares of more than 1 in all: 0.9 + 0.6 of the message staged
// leave the direct path nothing and the second relay 0.1.
TEST(Evaluate, KeepsNoPathThatTheShapeHasNot) {
  const Question question(with_relays(40_GBps, {40_GBps, 20_GBps, 10_GBps}));
  Draft draft;
  for (const double share : {0.2, 0.9, 0.6, 0.1})
    draft.paths.push_back({question.paths[draft.paths.size()], share, 4, 0});

  question.splitter.evaluate(draft);

  EXPECT_EQ(paths_of(draft), (std::vector<Path>{question.paths[1], question.paths[2]}));
  EXPECT_EQ(draft.prediction.path_finish.size(), draft.paths.size());
}

}  // namespace
}  // namespace polypath::test::optimiser_test
