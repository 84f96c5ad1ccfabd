// From a request to a plan: what is refused, what options and settings do, and why each path is in
// or out.

#include "plan/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "machine/library.h"
#include "plan/coverage.h"
#include "support/errors.h"
#include "support/random.h"

namespace polypath {
namespace {

using test::covers_once;
using test::expect_error;
using test::expect_invalid_argument;
using Names = std::vector<std::string>;

constexpr PlaceId kGpu0{0};
constexpr PlaceId kGpu1{1};

/// A planner with the machine it plans on.
struct Rig {
  explicit Rig(const std::string& name, const Settings& settings = {})
      : machine(load_machine(name)), planner(machine, settings) {}

  PlanPointer plan(Bytes bytes, const PlanOptions& options = {}, const Load& load = {}) {
    return planner.plan(kGpu0, kGpu1, bytes, options, load);
  }

  Machine machine;
  Planner planner;
};

const PathDecision& decision(const Plan& plan, const std::string& name) {
  for (const PathDecision& decision : plan.decisions)
    if (decision.name == name) return decision;
  throw std::out_of_range(name);
}

Names used(const Plan& plan) {
  Names names;
  for (const PathDecision& decision : plan.decisions)
    if (decision.included) names.push_back(decision.name);
  return names;
}

PlanOptions with_executor(ExecutorChoice executor) {
  PlanOptions options;
  options.executor = executor;
  return options;
}

PlanOptions over(const Names& paths) {
  PlanOptions options;
  options.paths = paths;
  return options;
}

PlanOptions split(const std::map<std::string, double>& shares) {
  PlanOptions options;
  options.shares = shares;
  return options;
}

PlanOptions chunked(const std::map<std::string, int>& chunks) {
  PlanOptions options;
  options.chunks = chunks;
  return options;
}

std::vector<std::string> zoo_and_synthetic(int synthetic) {
  std::vector<std::string> names = zoo_names();
  for (int seed = 0; seed < synthetic; ++seed) names.push_back("synthetic:" + std::to_string(seed));
  return names;
}

// --- what is refused ---

TEST(Planner, RefusesZeroBytes) {
  Rig rig("beluga");

  expect_invalid_argument([&] { rig.plan(0_B); }, "size is 0");
}

TEST(Planner, RefusesACopyWithinOnePlace) {
  Rig rig("beluga");

  expect_invalid_argument([&] { rig.planner.plan(kGpu0, kGpu0, 64_MiB); },
                          "no copy leads from gpu0 to gpu0", "beluga");
}

TEST(Planner, ListsThePathsThereAreForAnUnknownOne) {
  Rig rig("beluga");

  expect_invalid_argument(
      [&] {
        rig.plan(64_MiB, over({"direct", "gpu7"}));
      },
      "path 'gpu7'", "direct, gpu2, gpu3, host", "from gpu0 to gpu1");
  expect_invalid_argument(
      [&] {
        rig.plan(64_MiB, split({{"gpu1", 1}}));
      },
      "path 'gpu1'", "direct, gpu2, gpu3, host");
}

TEST(Planner, RefusesSharesThatDoNotAddUpToOne) {
  Rig rig("beluga");
  const double nan = std::numeric_limits<double>::quiet_NaN();

  for (const double share : {0.0, 0.4, 0.6, -0.5, 1.5, nan})
    expect_invalid_argument(
        [&] {
          rig.plan(64_MiB, split({{"direct", 0.5}, {"gpu2", share}}));
        },
        "do not add up to 1");
}

TEST(Planner, RefusesTheHostUnderTwoNames) {
  Rig rig("beluga");

  expect_invalid_argument(
      [&] {
        rig.plan(64_MiB, split({{"host", 0.5}, {"host0", 0.5}}));
      },
      "host0", "twice");
}

TEST(Planner, RefusesImpossibleChunkCounts) {
  Rig rig("beluga");

  for (const int count : {0, -1, (1 << 20) + 1})
    expect_invalid_argument(
        [&] {
          rig.plan(64_MiB, chunked({{"host", count}}));
        },
        "chunk count host=" + std::to_string(count), "1 to 1048576");
}

TEST(Planner, RefusesChunksOfAnUnknownPlace) {
  Rig rig("beluga");

  expect_invalid_argument([&] { rig.plan(64_MiB, chunked({{"gpu7", 2}})); }, "gpu7");
}

TEST(Planner, RefusesSettingsWithUnknownPaths) {
  Settings included, excluded;
  included.include = {"gpu2", "gpu7"};
  excluded.exclude = {"hots"};

  expect_error(
      ErrorCode::invalid_setting, [&] { Rig("beluga", included); }, "POLYPATH_PATHS", "gpu7");
  expect_error(
      ErrorCode::invalid_setting, [&] { Rig("beluga", excluded); }, "POLYPATH_EXCLUDE", "hots");
}

TEST(Planner, RemembersNothingOfWhatItRefused) {
  Rig rig("beluga");

  expect_invalid_argument([&] { rig.plan(0_B); }, "size");
  expect_invalid_argument([&] { rig.plan(64_MiB, over({"gpu7"})); }, "gpu7");

  EXPECT_EQ(rig.planner.cached_plans(), 0U);
}

// --- options ---

TEST(Planner, RunsAsTheExecutorAskedFor) {
  Rig rig("beluga");

  EXPECT_EQ(rig.plan(64_MiB, with_executor(ExecutorChoice::native))->executor(), Executor::native);
  EXPECT_EQ(rig.plan(64_MiB, with_executor(ExecutorChoice::stream))->executor(), Executor::stream);
  EXPECT_EQ(rig.plan(64_MiB, with_executor(ExecutorChoice::graph))->executor(), Executor::graph);
}

TEST(Planner, TakesTheFasterExecutorByItself) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(64_MiB);

  for (const ExecutorChoice executor :
       {ExecutorChoice::native, ExecutorChoice::stream, ExecutorChoice::graph})
    EXPECT_LE(plan->predicted, rig.plan(64_MiB, with_executor(executor))->predicted);
}

TEST(Planner, MakesANativeCopyOneNode) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(64_MiB, with_executor(ExecutorChoice::native));

  ASSERT_EQ(plan->nodes.size(), 1U);
  EXPECT_EQ(plan->nodes[0].bytes, 64_MiB);
  EXPECT_EQ(plan->predicted, plan->native_predicted);
  EXPECT_EQ(used(*plan), Names{"direct"});
}

TEST(Planner, ForcedPathsCarryBytesEach) {
  for (const std::string& name : zoo_names()) {
    SCOPED_TRACE(name);
    Rig rig(name);
    Names all;
    for (const Path& path : find_paths(rig.machine, kGpu0, kGpu1))
      all.push_back(name_of(rig.machine, path));

    const PlanPointer plan = rig.plan(64_MiB, over(all));

    EXPECT_EQ(used(*plan), all);
    for (const PathDecision& part : plan->decisions) EXPECT_GT(part.bytes, 0_B) << part.name;
  }
}

TEST(Planner, ForcedPathsAreUsedAloneAndEvenIfSlower) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(64_MiB, over({"host0"}));

  EXPECT_EQ(used(*plan), Names{"host0"});
  EXPECT_EQ(decision(*plan, "host0").bytes, 64_MiB);
  EXPECT_GT(plan->predicted, plan->native_predicted);
}

TEST(Planner, ForcedPathsIgnoreTheSmallestMessage) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(64_KiB, over({"direct", "gpu2"}));

  EXPECT_EQ(used(*plan), (Names{"direct", "gpu2"}));
}

TEST(Planner, ForcedSharesAreTakenAsTheyAre) {
  Rig rig("beluga");

  const PlanPointer plan =
      rig.plan(64_MiB, split({{"direct", 0.5}, {"gpu3", 0.3}, {"host0", 0.2}}));

  EXPECT_EQ(used(*plan), (Names{"direct", "gpu3", "host0"}));
  EXPECT_NEAR(decision(*plan, "direct").share, 0.5, 1e-4);
  EXPECT_NEAR(decision(*plan, "gpu3").share, 0.3, 1e-4);
  EXPECT_NEAR(decision(*plan, "host0").share, 0.2, 1e-4);
}

TEST(Planner, ForcedSharesWinOverForcedPaths) {
  Rig rig("beluga");
  PlanOptions options = split({{"gpu2", 1}});
  options.paths = {"direct", "gpu3"};

  EXPECT_EQ(used(*rig.plan(64_MiB, options)), Names{"gpu2"});
}

TEST(Planner, APathWithAShareOfZeroIsIdle) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(64_MiB, split({{"direct", 0}, {"gpu2", 1}}));

  EXPECT_EQ(used(*plan), Names{"gpu2"});
}

TEST(Planner, ForcedChunkCountsAreKept) {
  Rig rig("beluga");
  PlanOptions options = split({{"direct", 0.5}, {"gpu2", 0.25}, {"host", 0.25}});
  options.chunks = {{"gpu2", 7}, {"host", 5}};

  const PlanPointer plan = rig.plan(64_MiB, options);

  EXPECT_EQ(decision(*plan, "direct").chunks, 1);
  EXPECT_EQ(decision(*plan, "gpu2").chunks, 7);
  EXPECT_EQ(decision(*plan, "host0").chunks, 5);
}

TEST(Planner, HostMeansTheHostOfTheGpuThatSends) {
  Rig rig("synthetic:7");
  ASSERT_GT(rig.machine.places_of(PlaceKind::host).size(), 1U);

  for (const PlaceId source : rig.machine.places_of(PlaceKind::gpu)) {
    const PlaceId destination = source == kGpu0 ? kGpu1 : kGpu0;
    const PlanPointer plan =
        rig.planner.plan(source, destination, 64_MiB, split({{"direct", 0.9}, {"host", 0.1}}));

    const std::string host = rig.machine.place(rig.machine.nearest_host(source)).name;
    EXPECT_EQ(used(*plan), (Names{"direct", host}));
  }
}

// --- settings ---

TEST(PlannerSettings, IncludeNamesTheOnlyOtherPaths) {
  Settings settings;
  settings.include = {"gpu3"};

  EXPECT_EQ(used(*Rig("beluga", settings).plan(256_MiB)), (Names{"direct", "gpu3"}));
}

TEST(PlannerSettings, IncludeKnowsHost) {
  Settings settings;
  settings.include = {"host"};

  EXPECT_EQ(used(*Rig("beluga", settings).plan(256_MiB)), (Names{"direct", "host0"}));
}

TEST(PlannerSettings, ExcludeLeavesTheOthers) {
  Settings settings;
  settings.exclude = {"gpu2", "host"};

  EXPECT_EQ(used(*Rig("beluga", settings).plan(256_MiB)), (Names{"direct", "gpu3"}));
}

TEST(PlannerSettings, ExcludeWinsOverInclude) {
  Settings settings;
  settings.include = settings.exclude = {"gpu2"};

  EXPECT_EQ(used(*Rig("beluga", settings).plan(256_MiB)), Names{"direct"});
}

TEST(PlannerSettings, ForcedPathsIgnoreExclude) {
  Settings settings;
  settings.exclude = {"gpu2"};

  EXPECT_EQ(used(*Rig("beluga", settings).plan(256_MiB, over({"gpu2"}))), Names{"gpu2"});
}

TEST(PlannerSettings, MaxPathsBoundsThePaths) {
  Settings settings;
  for (int most = 1; most <= 4; ++most) {
    settings.max_paths = most;

    const PlanPointer plan = Rig("beluga", settings).plan(256_MiB);

    EXPECT_EQ(used(*plan).size(), static_cast<std::size_t>(most));
  }
}

TEST(PlannerSettings, MinMessageBoundsTheNativeCopies) {
  Settings settings;
  settings.min_message = 32_MiB;
  Rig rig("beluga", settings);

  EXPECT_EQ(rig.plan(32_MiB - 1_B)->executor(), Executor::native);
  EXPECT_NE(rig.plan(32_MiB)->executor(), Executor::native);
}

// Four paths of beluga gain 181 % at 64 MiB.
TEST(PlannerSettings, MinGainBoundsWhatIsWorthSeveralPaths) {
  Settings settings;
  settings.min_gain = 1.5;
  EXPECT_NE(Rig("beluga", settings).plan(64_MiB)->executor(), Executor::native);

  settings.min_gain = 2.5;
  EXPECT_EQ(Rig("beluga", settings).plan(64_MiB)->executor(), Executor::native);
}

TEST(PlannerSettings, ChunksFitTheSlotsAndTheRing) {
  Settings settings;
  settings.staging_slot = 256_KiB;
  settings.staging_slots = 2;

  const PlanPointer plan = Rig("beluga", settings).plan(64_MiB);

  EXPECT_EQ(plan->slots, 2);
  EXPECT_EQ(plan->slot_bytes, 256_KiB);
  EXPECT_GT(used(*plan).size(), 1U);
  for (const CopyNode& node : plan->nodes) {
    if (node.slot < 0) continue;
    EXPECT_LE(node.bytes, 256_KiB);
    EXPECT_LT(node.slot, 2);
  }
}

// --- caches and load ---

TEST(PlannerCache, GivesTheSamePlanForTheSameRequest) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(64_MiB);

  EXPECT_EQ(rig.plan(64_MiB), plan);
  EXPECT_EQ(rig.planner.cached_plans(), 1U);
}

TEST(PlannerCache, TellsRequestsApart) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(64_MiB);

  EXPECT_NE(rig.plan(64_MiB + 1_B), plan);
  EXPECT_NE(rig.plan(64_MiB, with_executor(ExecutorChoice::stream)), plan);
  EXPECT_NE(rig.plan(64_MiB, chunked({{"gpu2", 3}})), plan);
  EXPECT_NE(rig.planner.plan(kGpu1, kGpu0, 64_MiB), plan);
  EXPECT_EQ(rig.planner.cached_plans(), 5U);
}

TEST(PlannerCache, IsBounded) {
  Settings settings;
  settings.plan_cache = 2;
  Rig rig("beluga", settings);

  const PlanPointer first = rig.plan(1_MiB);
  rig.plan(2_MiB);
  rig.plan(4_MiB);

  EXPECT_EQ(rig.planner.cached_plans(), 2U);
  EXPECT_EQ(first->bytes, 1_MiB) << "a plan in use outlives the cache's interest";
}

TEST(PlannerCache, GivesTheSamePlanWhateverWasPlannedBefore) {
  Rig fresh("beluga");
  Rig used("beluga");
  for (const Bytes bytes : {1_MiB, 60_MiB, 63_MiB, 64_MiB + 4_KiB, 1_GiB}) used.plan(bytes);

  EXPECT_EQ(used.plan(64_MiB)->structure, fresh.plan(64_MiB)->structure);
}

TEST(PlannerCache, NeighbouringSizesHaveNearlyTheSameShares) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(64_MiB);
  const PlanPointer next = rig.plan(64_MiB + 512_B);

  ASSERT_EQ(used(*plan), used(*next));
  for (const PathDecision& part : plan->decisions) {
    EXPECT_NEAR(decision(*next, part.name).share, part.share, 1e-4) << part.name;
    EXPECT_EQ(decision(*next, part.name).chunks, part.chunks) << part.name;
  }
}

/// What a transfer that runs over `path` at its full rate takes, times `factor`.
Load load_of(const Planner& planner, const Path& path, double factor = 1) {
  const Machine& machine = planner.machine();
  const double rate =
      std::min(machine.hop(path.first).bandwidth, machine.hop(path.second).bandwidth).value;
  Load load(machine.resources.size());
  for (const Use& use : planner.predictor().resources().claims(path))
    load[use.resource.index()] = {use.weight * rate * factor};
  return load;
}

Path host_path(const Machine& machine) { return find_paths(machine, kGpu0, kGpu1).back(); }

TEST(PlannerLoad, KeepsASecondTransferOffTheHostPath) {
  Rig rig("beluga");
  ASSERT_TRUE(decision(*rig.plan(64_MiB), "host0").included);

  const PlanPointer plan = rig.plan(64_MiB, {}, load_of(rig.planner, host_path(rig.machine)));

  EXPECT_EQ(used(*plan), (Names{"direct", "gpu2", "gpu3"}));
  EXPECT_NE(decision(*plan, "host0").reason.find("in flight"), std::string::npos);
}

TEST(PlannerLoad, OfNothingIsNoLoad) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(64_MiB);

  EXPECT_EQ(rig.plan(64_MiB, {}, Load(rig.machine.resources.size())), plan);
}

TEST(PlannerLoad, IsToldApartInSixteenths) {
  Rig rig("beluga");
  const Path path = host_path(rig.machine);

  const PlanPointer plan = rig.plan(64_MiB, {}, load_of(rig.planner, path, 0.99));

  EXPECT_EQ(rig.plan(64_MiB, {}, load_of(rig.planner, path, 0.98)), plan);
  EXPECT_NE(rig.plan(64_MiB, {}, load_of(rig.planner, path, 0.5)), plan);
}

TEST(PlannerLoad, BeyondEveryCapacityStillGivesAPlan) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(64_MiB, {}, load_of(rig.planner, host_path(rig.machine), 50));

  EXPECT_TRUE(covers_once(plan->nodes, 64_MiB));
}

// --- what every plan keeps ---

void expect_sound(const Machine& machine, const Plan& plan) {
  EXPECT_TRUE(covers_once(plan.nodes, plan.bytes));
  EXPECT_EQ(plan.shape.total(), plan.bytes);
  EXPECT_EQ(plan.structure, structure_of(plan.nodes));
  EXPECT_EQ(plan.decisions.size(), find_paths(machine, plan.source, plan.destination).size());
  Bytes carried;
  for (const PathDecision& part : plan.decisions) carried += part.bytes;
  EXPECT_EQ(carried, plan.bytes);
}

TEST(EveryPlan, CarriesTheMessageExactlyForOddSizes) {
  for (const std::string& name : zoo_names()) {
    SCOPED_TRACE(name);
    Rig rig(name);
    for (const Bytes bytes : {1_B, 511_B, 1_MiB + 1_B, 64_MiB - 1_B, 123456789_B}) {
      SCOPED_TRACE(bytes.value);

      expect_sound(rig.machine, *rig.plan(bytes));
      expect_sound(rig.machine, *rig.plan(bytes, split({{"direct", 0.7}, {"host", 0.3}})));
      expect_sound(rig.machine, *rig.plan(bytes, over({"direct", "host"})));
    }
  }
}

TEST(EveryPlan, IsPredictedNoSlowerThanTheNativeCopy) {
  for (const std::string& name : zoo_and_synthetic(30)) {
    SCOPED_TRACE(name);
    Rig rig(name);
    test::Random random(1);
    for (int round = 0; round < 3; ++round) {
      const Hop& hop = random.pick(rig.machine.hops);
      const Bytes bytes{random.between(1, 1 << 20) << random.integer(0, 9)};

      const PlanPointer plan = rig.planner.plan(hop.source, hop.destination, bytes);

      SCOPED_TRACE(bytes.value);
      expect_sound(rig.machine, *plan);
      if (plan->executor() == Executor::native) EXPECT_EQ(plan->predicted, plan->native_predicted);
      else
        EXPECT_LT(plan->predicted * (1 + rig.planner.settings().min_gain),
                  plan->native_predicted * (1 + 1e-9));
    }
  }
}

// --- decisions ---

void expect_explained(const PathDecision& decision) {
  SCOPED_TRACE(decision.name + ": " + decision.reason);
  EXPECT_TRUE(std::any_of(decision.reason.begin(), decision.reason.end(),
                          [](unsigned char letter) { return std::isdigit(letter); }));
  EXPECT_EQ(decision.reason.find('\n'), std::string::npos);
  EXPECT_GT(decision.predicted.value, 0);
  EXPECT_EQ(decision.included, decision.bytes > 0_B);
  EXPECT_EQ(decision.included, decision.chunks > 0);
}

TEST(Decisions, GiveEveryPathAReasonWithANumber) {
  for (const std::string& name : zoo_and_synthetic(10)) {
    SCOPED_TRACE(name);
    Rig rig(name);
    for (const Bytes bytes : {4_KiB, 1_MiB, 64_MiB}) {
      const PlanPointer plan = rig.plan(bytes);

      const auto paths = find_paths(rig.machine, kGpu0, kGpu1);
      ASSERT_EQ(plan->decisions.size(), paths.size());
      for (std::size_t p = 0; p < paths.size(); ++p) {
        EXPECT_EQ(plan->decisions[p].path, paths[p]);
        expect_explained(plan->decisions[p]);
      }
    }
  }
}

TEST(Decisions, NameWhatGpuPathsShareBehindASwitch) {
  Rig rig("h200x4");

  const PlanPointer plan = rig.plan(64_MiB);

  for (const std::string name : {"gpu2", "gpu3"}) {
    const PathDecision& relay = decision(*plan, name);
    EXPECT_FALSE(relay.included);
    EXPECT_TRUE(relay.reason.starts_with("gpu0.peer_engine") ||
                relay.reason.starts_with("gpu0.egress") || relay.reason.starts_with("gpu1.ingress"))
        << relay.reason;
    EXPECT_GT(relay.predicted, plan->predicted);
  }
}

TEST(Decisions, NameTheSmallestMessage) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(512_KiB);

  EXPECT_NE(decision(*plan, "gpu2").reason.find("below 1 MiB"), std::string::npos);
}

TEST(Decisions, NameTheLeastGain) {
  Settings settings;
  settings.min_gain = 5;
  Rig rig("beluga", settings);

  const PlanPointer plan = rig.plan(64_MiB);

  EXPECT_NE(decision(*plan, "gpu2").reason.find("500.0 %"), std::string::npos);
}

TEST(Decisions, SayWhatWasForced) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(64_MiB, over({"direct", "gpu2"}));

  EXPECT_TRUE(decision(*plan, "gpu2").reason.starts_with("by request"));
  EXPECT_EQ(decision(*plan, "gpu3").reason, "not among the paths asked for");
}

TEST(Decisions, OfIncludedPathsEndNoLaterThanThePlan) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(64_MiB);

  for (const PathDecision& part : plan->decisions) EXPECT_LE(part.predicted, plan->predicted);
}

// --- both ways at once ---

PlanOptions both_ways() {
  PlanOptions options;
  options.both_ways = true;
  return options;
}

// With a transfer the other way each has less of what both use: never faster than alone.
TEST(BothWays, APlanExpectsTheOtherDirection) {
  Rig rig("beluga");

  const PlanPointer alone = rig.plan(256_MiB);
  const PlanPointer both = rig.plan(256_MiB, both_ways());

  EXPECT_GE(both->predicted, alone->predicted);
  EXPECT_GT(used(*both).size(), 1U);
}

// At 64 MiB both ways at once gain less than the 20 us by which two threads hold each other up.
TEST(BothWays, AGainOfFewMicrosecondsIsNotReliedOn) {
  Rig rig("h200x4");

  EXPECT_EQ(rig.plan(64_MiB, both_ways())->executor(), Executor::native);
  EXPECT_NE(rig.plan(64_MiB)->executor(), Executor::native);
  EXPECT_NE(rig.plan(1_GiB, both_ways())->executor(), Executor::native);
}

// Behind a switch the program cannot tell the direct path from one through another GPU.
TEST(Planner, FindsThePathThatTheShareProgramIsIndifferentTo) {
  Machine machine = load_machine("h200x4");
  for (const PlaceId gpu : machine.places_of(PlaceKind::gpu))
    machine.places[gpu.index()].busy_latency = 4_us;
  for (Resource& resource : machine.resources)
    if (resource.name.ends_with(".ingress")) resource.capacity = 399_GBps;
  Planner planner(machine, {});

  for (const Bytes bytes : {64_MiB, 256_MiB, 1_GiB})
    EXPECT_EQ(used(*planner.plan(kGpu0, kGpu1, bytes)), (Names{"direct", "host0"}));
}

}  // namespace
}  // namespace polypath
