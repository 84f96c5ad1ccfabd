#include "bench/jacobi.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "bench/repetitions.h"
#include "core/error.h"
#include "kernels/jacobi.h"

namespace polypath::bench {
namespace {

constexpr int kWarmUp = 8;  // iterations: plans and graphs are made in the first ones
constexpr int kMostVerified = 20;

JacobiGrid grid_of(const Machine& machine, const JacobiBench& bench, Bytes halo) {
  JacobiGrid grid{.gpus = machine.places_of(PlaceKind::gpu),
                  .width = halo.value / sizeof(float),
                  .rows = bench.rows};
  const int all = grid.size(), wanted = bench.gpus.value_or(all);
  if (wanted > all)
    fail(ErrorCode::invalid_argument, fmt::format("{} GPUs cannot be had", wanted),
         fmt::format("{} has {}", machine.name, all), "Ask for fewer.");
  grid.gpus.resize(static_cast<std::size_t>(std::max(wanted, 0)));
  if (halo.value % sizeof(float) != 0) grid.width = 0;
  check(grid);
  return grid;
}

// A grid on the machine as if nothing had been done on it.
class Run {
 public:
  Run(const OpenMachine& opened, const JacobiGrid& grid, const JacobiHow& how,
      const sim::Options& simulation)
      : opened_(opened.reopen(simulation)),
        memory_(std::make_unique<JacobiMemory>(opened_.driver(), opened_.machine(), grid)),
        solver_(make_jacobi_solver(opened_, grid, *memory_, how)) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() { give_back(); }

  Seconds time(int iterations) {
    const Seconds start = opened_.driver().now();
    solver_->iterate(iterations);
    solver_->wait();
    return {(opened_.driver().now() - start).value / iterations};
  }

  [[nodiscard]] std::optional<JacobiShape> shape() const {
    if (solver_->shape() == nullptr) return {};
    return *solver_->shape();
  }
  JacobiMemory& memory() { return *memory_; }

  // True if the driver has found nothing wrong, leaks included.
  bool close() {
    give_back();
    const sim::SimDriver* const simulator = opened_.simulator();
    return simulator == nullptr || (simulator->violations().empty() && simulator->leaks().empty());
  }

 private:
  void give_back() {
    solver_.reset();
    memory_.reset();
  }

  OpenMachine opened_;
  std::unique_ptr<JacobiMemory> memory_;
  std::unique_ptr<JacobiSolver> solver_;
};

void time_runs(const OpenMachine& opened, Run& run, int iterations, JacobiResult& result) {
  (void)run.time(kWarmUp);
  if (opened.simulated()) {
    result.seconds = run.time(iterations);
    return;
  }
  std::vector<Seconds>& rounds = result.repetitions.times;
  for (int round = 0; round < kTimedRounds; ++round) rounds.push_back(run.time(iterations));
  result.seconds = {spread_of(in_seconds(rounds)).median};
}

// The host has the window that memories are filled through, and two whole grids.
JacobiGrid that_fits(JacobiGrid grid, Bytes limit) {
  const auto needed = [&] { return grid.memory() * (grid.gpus.size() + 1) + grid.data() * 3; };
  while (grid.width > kJacobiWidthStep && needed() > limit)
    grid.width = std::max(grid.width / 2 / kJacobiWidthStep, std::uint64_t{1}) * kJacobiWidthStep;
  return grid;
}

bool is_same(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  });
}

void verify(const OpenMachine& opened, const JacobiBench& bench, JacobiResult& result) {
  const JacobiGrid grid = that_fits(result.grid, bench.memory_limit);
  const int iterations = std::min(bench.iterations, kMostVerified);
  Run run(opened, grid, result.how, {});
  run.memory().fill();
  (void)run.time(iterations);
  std::vector<float> values = run.memory().values(0);
  const bool right = is_same(values, solve_serially(grid.width, grid.total_rows(), iterations));
  result.verified = run.close() && right;
  result.verified_halo = grid.halo();
  result.verified_iterations = iterations;
  if (bench.values) result.values = std::move(values);
}

JacobiResult measure(const OpenMachine& opened, const JacobiBench& bench, const JacobiGrid& grid,
                     const JacobiHow& how, std::optional<Seconds> native) {
  JacobiResult result{.how = how, .grid = grid};
  {
    Run run(opened, grid, how, sim::kTimingOnly);
    time_runs(opened, run, bench.iterations, result);
    result.shape = run.shape();
  }
  result.native = native.value_or(result.seconds);
  result.kernel = kernel_of(opened.machine(), grid, how.efficiency, 0, 0, 1, grid.rows).duration;
  return result;
}

// All ways in which one size is measured.
std::vector<JacobiHow> hows_of(const JacobiBench& bench) {
  std::vector<JacobiHow> hows;
  for (const JacobiWay way : bench.ways) {
    const bool by_paths = way == JacobiWay::stream || way == JacobiWay::graph;
    for (const JacobiPaths paths : bench.paths)
      if (by_paths || paths == bench.paths.front())
        hows.push_back({way, by_paths ? paths : JacobiPaths::automatic, bench.efficiency});
  }
  return hows;
}

}  // namespace

std::vector<JacobiResult> measure_jacobi(const OpenMachine& opened, const JacobiBench& bench,
                                         const Progress& progress) {
  if (bench.iterations < 2 || bench.iterations % 2 != 0)
    fail(ErrorCode::invalid_argument, fmt::format("{} iterations", bench.iterations),
         "they go there and back between two arrays", "Ask for an even number.");
  const std::vector<JacobiHow> hows = hows_of(bench);
  std::vector<JacobiResult> results;
  const int all = static_cast<int>(bench.sizes.size() * hows.size());
  for (const Bytes halo : bench.sizes) {
    const JacobiGrid grid = grid_of(opened.machine(), bench, halo);
    const JacobiHow native{.way = JacobiWay::native, .efficiency = bench.efficiency};
    const Seconds reference = measure(opened, bench, grid, native, {}).seconds;
    for (const JacobiHow& how : hows) {
      results.push_back(measure(opened, bench, grid, how, reference));
      if (bench.verify) verify(opened, bench, results.back());
      if (progress) progress(static_cast<int>(results.size()), all);
    }
  }
  return results;
}

}  // namespace polypath::bench
