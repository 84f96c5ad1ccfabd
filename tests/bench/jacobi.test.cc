#include "bench/jacobi.h"

#include <gmock/gmock.h>

#include "bench/jacobi_program.h"
#include "kernels/jacobi.h"
#include "machine/load_machine.h"
#include "support/effort.h"
#include "support/errors.h"

namespace polypath::bench::jacobi_test {
namespace {

using test::expect_invalid_argument;

JacobiBench bench_of(const std::string& machine, std::vector<Bytes> sizes) {
  JacobiBench bench;
  bench.machine = machine;
  bench.sizes = std::move(sizes);
  bench.iterations = 6;
  return bench;
}

std::vector<JacobiResult> measure(const JacobiBench& bench) {
  return measure_jacobi(open_machine(bench.machine, bench.settings), bench, {});
}

// 2 rows of 4, a ring: with f = first_value, b(0, 1) = (((f(0,0) + f(0,2)) + f(1,1)) + f(1,1)) / 4,
// and the ends of a row stay.
TEST(JacobiGrid, SerialSolverTakesTheMeanOfFourNeighbours) {
  const std::vector<float> after = solve_serially(4, 2, 1);

  const auto f = first_value;
  EXPECT_EQ(after[1], 0.25F * (((f(0, 0) + f(0, 2)) + f(1, 1)) + f(1, 1)));
  EXPECT_EQ(after[6], 0.25F * (((f(1, 1) + f(1, 3)) + f(0, 2)) + f(0, 2)));
  EXPECT_EQ(after[0], f(0, 0));
  EXPECT_EQ(after[7], f(1, 3));
}

// Without changes at the ends of rows, all that is between goes to their means: after many
// iterations one more changes next to nothing.
TEST(JacobiGrid, SerialSolverConverges) {
  const auto before = solve_serially(8, 8, 400), after = solve_serially(8, 8, 401);

  for (std::size_t i = 0; i < after.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-5);
}

// A V100's 900 GB/s: a reduction of 300 GB/s reads two operands and writes one.
TEST(JacobiGrid, MemoryCarriesThreeOperandsOfAReduction) {
  const Machine beluga = load_machine("beluga");

  EXPECT_EQ(memory_bandwidth(beluga.places[0]), 900_GBps);
}

TEST(JacobiGrid, HalosGoUpFirstAndThenDown) {
  const JacobiGrid grid{.gpus = {PlaceId{0}, PlaceId{1}, PlaceId{2}}, .width = 4, .rows = 5};

  const std::vector<Halo> halos = halos_of(grid, 1);

  ASSERT_EQ(halos.size(), 6U);
  EXPECT_EQ(halos[0].to, 2);  // above the first is the last
  EXPECT_EQ(halos[0].source.offset, 16_B * (7 + 1));
  EXPECT_EQ(halos[0].destination.offset, 16_B * (7 + 6));
  EXPECT_EQ(halos[5].to, 0);
  EXPECT_EQ(halos[5].source.offset, 16_B * (7 + 5));
  EXPECT_EQ(halos[5].destination.offset, 16_B * 7);
}

// 3 rows of 1000 values of 4 bytes: 5 are read and 3 written, 32000 bytes.
TEST(JacobiGrid, AKernelTakesWhatMemoryTakes) {
  const Machine machine = load_machine("beluga");
  const JacobiGrid grid{.gpus = machine.places_of(PlaceKind::gpu), .width = 1000, .rows = 3};

  const KernelCall call = kernel_of(machine, grid, 0.5, 1, 0, 1, 3);

  EXPECT_NEAR(call.duration.value,
              (machine.place(grid.gpus[1]).reduction_latency + 32000_B / 450_GBps).value, 1e-12);
}

// 002, figure 7: with up meaning to the GPU before, gpu1's halo for gpu0 goes by way of gpu2 too;
// no link has two copies of one way.
TEST(JacobiPathsTest, TwoPathsOfARingOfFourShareNoLink) {
  const Machine machine = load_machine("beluga");
  const JacobiGrid grid{.gpus = machine.places_of(PlaceKind::gpu), .width = 4, .rows = 5};
  const std::vector<Halo> halos = halos_of(grid, 0);

  for (const bool up : {true, false}) {
    std::vector<std::pair<PlaceId, PlaceId>> links;
    for (std::size_t i = 0; i < 4; ++i) {
      const Halo& halo = halos[i + (up ? 0 : 4)];
      const auto names = paths_of(machine, grid, halo, up, JacobiPaths::two);
      ASSERT_EQ(names.size(), 2U);
      const PlaceId from = grid.gpus[static_cast<std::size_t>(halo.from)];
      const PlaceId to = grid.gpus[static_cast<std::size_t>(halo.to)];
      const PlaceId relay = machine.find_place(names[1]);
      links.insert(links.end(), {{from, to}, {from, relay}, {relay, to}});
    }
    std::sort(links.begin(), links.end());
    EXPECT_EQ(std::adjacent_find(links.begin(), links.end()), links.end());
  }
}

TEST(Jacobi, EveryWayIsTheSerialSolverToTheBit) {
  for (const char* machine : {"beluga", "narval", "mist", "h200x4"}) {
    if (test::is_left_out(machine, {"narval"})) continue;
    JacobiBench bench = bench_of(machine, {16_B, 4000_B, 256_KiB});
    if (machine != std::string("mist"))  // whose GPUs of two sockets have no links to relays
      bench.paths = {JacobiPaths::automatic, JacobiPaths::direct, JacobiPaths::two,
                     JacobiPaths::three};

    const auto results = measure(bench);

    EXPECT_EQ(results.size(), 3 * (2 + 2 * bench.paths.size()));
    for (const JacobiResult& result : results)
      EXPECT_TRUE(result.verified) << machine << " " << name_of(result.how.way) << " "
                                   << name_of(result.how.paths) << " " << result.grid.width;
  }
}

TEST(Jacobi, OfOneRowPerGpuAndOfTwoGpusAsWell) {
  JacobiBench bench = bench_of("h200x4", {64_KiB});
  bench.gpus = 2;
  for (const std::uint64_t rows : {1U, 2U, 3U}) {
    bench.rows = rows;
    for (const JacobiResult& result : measure(bench)) EXPECT_TRUE(result.verified) << rows;
  }
}

// Links of the other two GPUs are idle: halos go by way of them as well, in every round of the
// graph through the same scratch memory.
TEST(Jacobi, AProgramOverSeveralPathsIsTheSerialSolverToTheBit) {
  JacobiBench bench = bench_of("beluga", {4_MiB});
  bench.gpus = 2;
  bench.rows = 3;
  bench.ways = {JacobiWay::stream, JacobiWay::program};

  const auto results = measure(bench);

  for (const JacobiResult& result : results) {
    EXPECT_TRUE(result.verified);
    EXPECT_EQ(result.verified_halo, 4_MiB);
    EXPECT_GT(result.native / result.seconds, 1.2);
  }
  EXPECT_TRUE(results[1].shape->several_paths);
}

// Behind a switch the ports are full in either way, and to ask for both at once only costs: on
// eight GPUs 20 us of an iteration. Where links join pairs of GPUs it gains.
TEST(Jacobi, BothWaysGoAtOnceOnlyWhereThatGains) {
  const std::map<std::string, double> least = {
      {"h200x8", 0.999}, {"dgx-a100", 0.999}, {"mist", 1.1}, {"narval", 1.4}};
  for (const auto& [machine, gain] : least) {
    if (test::is_left_out(machine, {"h200x8"})) continue;
    JacobiBench bench = bench_of(machine, {64_MiB});
    bench.paths = {JacobiPaths::automatic};
    bench.ways = {JacobiWay::stream};
    bench.verify = false;

    const JacobiResult result = measure(bench).front();

    EXPECT_GE(result.native / result.seconds, gain) << machine;
  }
}

// The gains that 002 states for its largest grids: halos of 256 MiB, of 8 rows per GPU.
TEST(Jacobi, GainsWhatThePaperGainsAndMore) {
  const std::map<std::string, double> stated = {{"beluga", 1.26}, {"narval", 1.15}};
  for (const auto& [machine, gain] : stated) {
    if (test::is_left_out(machine, {"narval"})) continue;
    JacobiBench bench = bench_of(machine, {256_MiB});
    bench.paths = {JacobiPaths::two, JacobiPaths::automatic};
    bench.ways = {JacobiWay::stream, JacobiWay::graph, JacobiWay::program};
    bench.verify = false;

    for (const JacobiResult& result : measure(bench))
      EXPECT_GT(result.native / result.seconds, gain)
          << machine << " " << name_of(result.how.way) << " " << name_of(result.how.paths);
  }
}

// What is predicted is a program alone, with the call before and the wait behind it: of programs in
// a row, those are hidden.
TEST(Jacobi, AProgramTakesWhatItIsPredictedToTake) {
  JacobiBench bench = bench_of("h200x4", {16_MiB, 64_MiB});
  bench.ways = {JacobiWay::program};
  bench.verify = false;

  for (const JacobiResult& result : measure(bench))
    EXPECT_NEAR(result.shape->predicted / result.seconds, 1, 0.05);
}

// Memory of GPUs is virtual where no bytes move, but what is verified is bounded.
TEST(Jacobi, VerifiesANarrowerGridWhereThereIsNoRoom) {
  JacobiBench bench = bench_of("beluga", {4_MiB});
  bench.ways = {JacobiWay::program};
  bench.memory_limit = 4_MiB;

  const auto results = measure(bench);

  EXPECT_TRUE(results[0].verified);
  EXPECT_LT(results[0].verified_halo, 64_KiB);
  EXPECT_GT(results[0].verified_halo, 0_B);
}

TEST(Jacobi, RefusesWhatIsNoGrid) {
  JacobiBench odd = bench_of("beluga", {1_MiB});
  odd.iterations = 3;
  JacobiBench many = bench_of("beluga", {1_MiB});
  many.gpus = 5;

  expect_invalid_argument([&] { measure(odd); }, "3 iterations");
  expect_invalid_argument([&] { measure(many); }, "5 GPUs");
  expect_invalid_argument([&] { measure(bench_of("beluga", {1001_B})); }, "halo");
}

}  // namespace
}  // namespace polypath::bench::jacobi_test
