// From a request to a plan: what is refused, and what options do. Settings, caches, reasons and
// what every plan keeps are tested in files of their own beside this one.

#include "plan/single/planner.h"

#include <gtest/gtest.h>

#include <limits>

#include "plan/planning.h"
#include "support/errors.h"

namespace polypath::test::planner_test {
namespace {

using Rig = PlannerRig;

// --- what is refused ---

TEST(Planner, RefusesZeroBytes) {
  Rig rig("beluga");

  expect_invalid_argument([&] { rig.plan(0_B); }, "size is 0");
}

TEST(Planner, RefusesACopyWithinOnePlace) {
  Rig rig("beluga");

  expect_invalid_argument([&] { rig.planner.plan(kGpu0, kGpu0, 64_MiB); }, "both gpu0",
                          "two different places");
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

  for (const double share : {0.0, 0.4, 0.6})
    expect_invalid_argument(
        [&] {
          rig.plan(64_MiB, split({{"direct", 0.5}, {"gpu2", share}}));
        },
        "do not add up to 1");
}

// 2 and -1 do add up to 1.
TEST(Planner, RefusesSharesThatAreNoPartOfTheMessage) {
  Rig rig("beluga");
  const double nan = std::numeric_limits<double>::quiet_NaN();

  for (const double share : {-1.0, -0.5, 1.5, 2.0, nan})
    expect_invalid_argument(
        [&] {
          rig.plan(64_MiB, split({{"direct", 1 - share}, {"gpu2", share}}));
        },
        "share ", "0 to 1");
}

TEST(Planner, RefusesAPathThatIsNamedTwice) {
  Rig rig("beluga");
  PlanOptions options;
  options.paths = {"direct", "gpu2", "direct"};

  expect_invalid_argument([&] { rig.plan(64_MiB, options); }, "direct", "twice");
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

TEST(Planner, RefusesImpossibleChunkCountsOfCopiesThatStayNative) {
  Rig rig("beluga");

  expect_invalid_argument([&] { rig.plan(4_KiB, chunked({{"direct", 0}})); }, "direct=0");
}

TEST(Planner, RefusesChunksOfPathsThatAreNotAskedFor) {
  Rig rig("beluga");
  PlanOptions direct = chunked({{"host", 2}}), both = direct;
  direct.paths = {"direct"};
  both.paths = {"direct", "host0"};

  expect_invalid_argument([&] { rig.plan(64_MiB, direct); }, "path 'host'", "has direct");
  EXPECT_NO_THROW(rig.plan(64_MiB, both));
}

TEST(Planner, RefusesMoreThanAnyMemoryHolds) {
  Rig rig("beluga");

  expect_invalid_argument([&] { rig.plan(Bytes{std::uint64_t{1} << 62}); }, "4611686018427387904",
                          "no memory");
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

  EXPECT_EQ(rig.plan(64_MiB, with_executor(Executor::native))->executor(), Executor::native);
  EXPECT_EQ(rig.plan(64_MiB, with_executor(Executor::stream))->executor(), Executor::stream);
  EXPECT_EQ(rig.plan(64_MiB, with_executor(Executor::graph))->executor(), Executor::graph);
}

TEST(Planner, TakesTheFasterExecutorByItself) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(64_MiB);

  for (const std::optional<Executor> executor :
       {Executor::native, Executor::stream, Executor::graph})
    EXPECT_LE(plan->predicted, rig.plan(64_MiB, with_executor(executor))->predicted);
}

TEST(Planner, MakesANativeCopyOneNode) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(64_MiB, with_executor(Executor::native));

  ASSERT_EQ(plan->program.nodes().size(), 1U);
  EXPECT_EQ(plan->program.nodes()[0].bytes, 64_MiB);
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

// --- both ways at once ---

PlanOptions both_ways(BothWays by = BothWays::by_threads) {
  PlanOptions options;
  options.both_ways = by;
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
  EXPECT_NE(rig.plan(64_MiB, both_ways(BothWays::by_processes))->executor(), Executor::native);
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
}  // namespace polypath::test::planner_test
