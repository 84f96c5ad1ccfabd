// What resources carry after a rest. By hand on the hand machine: 0.8 GB/s (800 bytes per
// microsecond) from gpu1 and gpu2 to gpu0, whose ingress has C = 1000 bytes per microsecond, and
// after a rest B = 1400 as long as its credit of S = 4000 bytes lasts, α = 10 us.

#include "model/burst_credit.h"

#include <gmock/gmock.h>

#include <numeric>

#include "machine/load_machine.h"
#include "model/close.h"
#include "model/fluid.h"
#include "model/joint_shares.h"
#include "model/paths.h"
#include "model/predict.h"
#include "model/share_problem.h"
#include "support/hand_machine.h"
#include "support/random.h"

namespace polypath::test::burst_credit_test {
namespace {

constexpr int kSlots = 4;

Machine machine_with_burst() {
  Machine machine = hand_machine();
  machine.resources[0].burst = {1.4_GBps, 4000_B};
  return machine;
}

class BurstTimeline : public testing::Test {
 protected:
  ActivityPointer copy(const std::string& source, Bytes bytes, Seconds issued = {}) {
    auto activity = std::make_shared<Activity>();
    activity->hop = *machine_.find_hop(machine_.find_place(source), machine_.find_place("gpu0"));
    activity->bytes = bytes;
    activity->issued = issued;
    fluid_.submit(activity);
    return activity;
  }

  Machine machine_ = machine_with_burst();
  HopRates rates_{machine_};
  Fluid fluid_{machine_, rates_};
};

// --- the timeline ---

// Credit lasts 4000/(1400 − 1000) = 10 us, 700·10 bytes of each; 7000/500 = 14 us for the rest.
// S + C·t = 4000 + 1000·24 = 28000.
TEST_F(BurstTimeline, RatesFallWhenTheCreditIsUsedUp) {
  const auto one = copy("gpu1", 14000_B), other = copy("gpu2", 14000_B);

  fluid_.drain();

  EXPECT_TRUE(close(one->finished, 34_us));
  EXPECT_TRUE(close(other->finished, 34_us));
}

// 10 + 3500/700; there would be credit for twice as much.
TEST_F(BurstTimeline, WhatFitsIntoTheBurstGoesAtItsRate) {
  const auto one = copy("gpu1", 3500_B), other = copy("gpu2", 3500_B);

  fluid_.drain();

  EXPECT_TRUE(close(one->finished, 15_us));
  EXPECT_TRUE(close(other->finished, 15_us));
}

// 800 of 1000: 10 + 80000/800, and the burst is still there for two more: 24 us from 120 on.
TEST_F(BurstTimeline, LessThanTheCapacityTakesNoCredit) {
  const auto alone = copy("gpu1", 80000_B);
  const auto one = copy("gpu1", 14000_B, 110_us), other = copy("gpu2", 14000_B, 110_us);

  fluid_.drain();

  EXPECT_TRUE(close(alone->finished, 110_us));
  EXPECT_TRUE(close(one->finished, 144_us));
  EXPECT_TRUE(close(other->finished, 144_us));
}

// Used up at 34. At 36 there are 2·1000 bytes: 5 us at 700, and (14000 − 3500)/500 = 21 us.
TEST_F(BurstTimeline, CreditComesBackAtTheCapacitysRate) {
  copy("gpu1", 14000_B), copy("gpu2", 14000_B);
  const auto one = copy("gpu1", 14000_B, 26_us), other = copy("gpu2", 14000_B, 26_us);

  fluid_.drain();

  EXPECT_TRUE(close(one->finished, 62_us));
  EXPECT_TRUE(close(other->finished, 62_us));
}

// After 50 us of rest 4000 bytes, not 50000.
TEST_F(BurstTimeline, CreditIsNeverMoreThanItsSize) {
  copy("gpu1", 14000_B), copy("gpu2", 14000_B);
  const auto one = copy("gpu1", 14000_B, 74_us), other = copy("gpu2", 14000_B, 74_us);

  fluid_.drain();

  EXPECT_TRUE(close(one->finished, 108_us));
  EXPECT_TRUE(close(other->finished, 108_us));
}

// What has been looked at in between is the same.
TEST_F(BurstTimeline, DoesNotDependOnWhereItIsLookedAt) {
  const auto one = copy("gpu1", 14000_B), other = copy("gpu2", 14000_B);

  for (int step = 0; step < 50; ++step) fluid_.advance_to(0.9_us * step);

  EXPECT_TRUE(close(one->finished, 34_us));
  EXPECT_TRUE(close(other->finished, 34_us));
}

// --- predictions ---

// Each transfer is issued at 1 by its own thread, which knows 4 after its end: 34 + 1 + 4.
TEST(BurstPrediction, QuickAndReplayedAreTheTimeline) {
  const Machine machine = machine_with_burst();
  const auto direct = [&](int gpu) {
    const auto hop = machine.find_hop({gpu}, {0});
    return TransferShape{Executor::native, {{Path{*hop, {}}, {14000_B}}}};
  };
  const Predictor predictor(machine);
  const std::vector<TransferShape> transfers{direct(1), direct(2)};

  for (const auto& predictions :
       {predictor.replay(transfers, kSlots), predictor.predict_well(transfers, kSlots)})
    for (const Prediction& each : predictions) EXPECT_TRUE(close(each.time, 39_us));
}

// --- shares ---

Capacity with_burst(BytesPerSecond capacity, BytesPerSecond rate, double credit) {
  return Resource{"", "", capacity, 0, {rate, {static_cast<std::uint64_t>(credit)}}}.rate_limit();
}

SharedPath path(BytesPerSecond rate, Seconds offset, std::vector<Use> claims) {
  return {{1 / rate.value, offset}, std::move(claims)};
}

const Use kMemory{{0}, 1};

// One million bytes: at least 1000/1.5 us by the burst, (1000 − 200)/1 us by what lasts.
TEST(BurstShares, WhatLastsBoundsWhatIsLong) {
  const std::vector<SharedPath> paths(2, path(1_GBps, {}, {kMemory}));
  const std::vector<Capacity> capacities{with_burst(1_GBps, 1.5_GBps, 200000)};

  const auto solution = solve_shares(paths, capacities, 1000000_B, 1_B);

  EXPECT_TRUE(close(solution.time, 800_us));
  EXPECT_TRUE(close(solution.shares[0], 0.5));
}

// 300 000 bytes: 200 us by the burst, 100 by what lasts.
TEST(BurstShares, TheBurstBoundsWhatIsShort) {
  const std::vector<SharedPath> paths(2, path(1_GBps, {}, {kMemory}));
  const std::vector<Capacity> capacities{with_burst(1_GBps, 1.5_GBps, 200000)};

  const auto solution = solve_shares(paths, capacities, 300000_B, 1_B);

  EXPECT_TRUE(close(solution.time, 200_us));
  EXPECT_TRUE(close(solution.shares[1], 0.5));
}

// Without latencies nothing over the link is over before (28000 − 4000)/1000 us.
TEST(BurstShares, TheFlowBoundKnowsIt) {
  const Machine machine = machine_with_burst();
  const ResourceModel resources(machine);
  const auto demand = [&](int gpu) {
    return FlowDemand{{Path{*machine.find_hop({gpu}, {0}), {}}}, 14000_B};
  };

  EXPECT_TRUE(close(flow_bound(machine, resources, std::vector{demand(1), demand(2)}), 24_us));
}

struct Problem {
  std::vector<SharedPath> paths;
  std::vector<Capacity> without, with;
};

Problem random_problem(Random& random) {
  Problem problem;
  for (int r = 0; r < 3; ++r) {
    const BytesPerSecond capacity{1e8 * random.integer(2, 20)};
    problem.without.emplace_back(capacity);
    problem.with.push_back(with_burst(capacity, {capacity.value * random.integer(11, 30) / 10},
                                      1e4 * random.integer(1, 60)));
  }
  for (int i = random.integer(2, 5); i > 0; --i) {
    std::vector<Use> claims;
    for (int r = 0; r < 3; ++r)
      if (random.chance(60)) claims.push_back({{r}, 0.5 * random.integer(1, 4)});
    const Seconds offset = problem.paths.empty() ? 0_us : 1_us * random.integer(0, 100);
    problem.paths.push_back(path({1e8 * random.integer(1, 20)}, offset, std::move(claims)));
  }
  return problem;
}

// The rows of the header, for the shares that were found.
double time_of_rows(const Problem& problem, const std::vector<double>& shares, double total) {
  double time = 0;
  for (std::size_t r = 0; r < problem.with.size(); ++r) {
    double claimed = 0, from = 1e9;
    for (std::size_t i = 0; i < shares.size(); ++i)
      for (const Use& use : problem.paths[i].claims)
        if (use.resource.index() == r && shares[i] > 0) {
          claimed += use.weight * shares[i] * total;
          from = std::min(from, problem.paths[i].time.offset.value);
        }
    if (claimed > 0) time = std::max(time, from + problem.with[r].time_of(claimed));
  }
  for (std::size_t i = 0; i < shares.size(); ++i)
    if (shares[i] > 0)
      time = std::max(time, problem.paths[i].time.offset.value +
                                problem.paths[i].time.slope * shares[i] * total);
  return time;
}

// At most 10 GB/s, so that nothing is over before the last path starts: 1 MB takes 100 us.
TEST(BurstShares, AreNoSlowerThanWithoutAndKeepToTheRows) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const Problem problem = random_problem(random);
    const Bytes total{random.between(1000000, 4000000)};

    const auto without = solve_shares(problem.paths, problem.without, total, 1_B);
    const auto with = solve_shares(problem.paths, problem.with, total, 1_B);

    EXPECT_LE(with.time.value, without.time.value * 1.003);  // fair shares may give up 0.2 %
    EXPECT_LE(time_of_rows(problem, with.shares, total.real()), with.time.value * 1.003);
    EXPECT_TRUE(close(std::accumulate(with.shares.begin(), with.shares.end(), 0.0), 1, 1e-6));
  }
}

// --- any machine ---

Machine random_machine(Random& random) {
  Machine machine = load_machine("synthetic:" + std::to_string(random.integer(1, 200)));
  for (Resource& resource : machine.resources)
    if (resource.copies_at_once == 0 && random.chance(50))
      resource.burst = {{resource.capacity.value * random.integer(11, 30) / 10},
                        {random.between(1 << 16, 32 << 20)}};
  return machine;
}

// No resource has carried more by the end than min(B·t, S + C·t).
TEST(BurstMachines, NothingCarriesMoreThanItsTwoLines) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const Machine machine = random_machine(random);
    HopRates rates(machine);
    Fluid fluid(machine, rates);
    std::vector<ActivityPointer> copies;
    for (int i = random.integer(1, 12); i > 0; --i) {
      auto copy = std::make_shared<Activity>();
      copy->hop = {static_cast<std::int32_t>(random.index(machine.hops.size()))};
      copy->bytes = {random.between(1 << 10, 64 << 20)};
      fluid.submit(copy);
      copies.push_back(copy);
    }

    fluid.drain();

    for (std::size_t r = 0; r < machine.resources.size(); ++r) {
      double carried = 0;
      Seconds end;
      for (const ActivityPointer& copy : copies)
        for (const Use& use : machine.hop(copy->hop).uses)
          if (use.resource.index() == r)
            carried += use.weight * copy->bytes.real(), end = std::max(end, copy->finished);
      const Capacity limit = machine.resources[r].rate_limit();
      const double least = carried > 0 ? limit.time_of(carried) : 0;
      EXPECT_GE(end.value, least * (1 - 1e-9)) << machine.resources[r].name;
    }
  }
}

}  // namespace
}  // namespace polypath::test::burst_credit_test
