// What planning costs: a plan that is cached, one whose recipe is cached, and one from nothing; and
// what it comes to: the time in the calls of a plan as streams, its chunks, and its gain.

#include "plan/single/planner.h"

#include <benchmark/benchmark.h>

#include "machine/load_machine.h"

namespace polypath::bench {
namespace {

struct Pair {
  PlaceId source;
  PlaceId destination;
};

Pair pair_of(const Machine& machine, const char* source, const char* destination) {
  return {machine.find_place(source), machine.find_place(destination)};
}

void plan_cached(benchmark::State& state) {
  const Machine machine = load_machine("beluga");
  const Pair pair = pair_of(machine, "gpu0", "gpu1");
  Planner planner(machine, {});
  for (auto _ : state)
    benchmark::DoNotOptimize(planner.plan(pair.source, pair.destination, 64_MiB));
}
BENCHMARK(plan_cached);

// Sizes of one class (an eighth of a power of two) share shares and chunk counts.
void plan_known_size_class(benchmark::State& state) {
  const Machine machine = load_machine("beluga");
  const Pair pair = pair_of(machine, "gpu0", "gpu1");
  Planner planner(machine, {});
  Bytes bytes = 64_MiB;
  for (auto _ : state) {
    bytes.value = bytes.value == (72_MiB).value - 512 ? (64_MiB).value : bytes.value + 512;
    benchmark::DoNotOptimize(planner.plan(pair.source, pair.destination, bytes));
  }
}
BENCHMARK(plan_known_size_class)->Unit(benchmark::kMicrosecond);

void count(benchmark::State& state, const Planner& planner, const Plan& plan) {
  std::size_t chunks = 0;
  for (const PathShape& part : plan.shape.paths) chunks += part.chunks.size();
  const int slots = planner.settings().staging_slots;
  state.counters["call_us"] = planner.predictor().call_time(plan.shape, slots).value * 1e6;
  state.counters["chunks"] = static_cast<double>(chunks);
  state.counters["gain"] = plan.native_predicted / plan.predicted;
}

void plan_cold(benchmark::State& state, const char* name, const char* source,
               const char* destination) {
  const Machine machine = load_machine(name);
  const Pair pair = pair_of(machine, source, destination);
  const Bytes bytes = Bytes{static_cast<std::uint64_t>(state.range(0))} * (1 << 20);
  for (auto _ : state) {
    Planner planner(machine, {});
    benchmark::DoNotOptimize(planner.plan(pair.source, pair.destination, bytes));
  }
  Planner planner(machine, {});
  PlanOptions options;
  options.executor = Executor::stream;
  count(state, planner, *planner.plan(pair.source, pair.destination, bytes, options));
}
BENCHMARK_CAPTURE(plan_cold, beluga_put, "beluga", "gpu0", "gpu1")
    ->Arg(8)
    ->Arg(64)
    ->Arg(512)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plan_cold, beluga_h2d, "beluga", "host0", "gpu0")
    ->Arg(16)
    ->Arg(64)
    ->Arg(256)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plan_cold, h200x4_put, "h200x4", "gpu0", "gpu1")
    ->Arg(8)
    ->Arg(64)
    ->Arg(512)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plan_cold, h200x4_h2d, "h200x4", "host0", "gpu0")
    ->Arg(64)
    ->Arg(256)
    ->Arg(1024)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plan_cold, h200x8_put, "h200x8", "gpu0", "gpu1")
    ->Arg(8)
    ->Arg(64)
    ->Arg(512)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plan_cold, dgx_a100_h2d, "dgx-a100", "host0", "gpu0")
    ->Arg(64)
    ->Unit(benchmark::kMillisecond);

void plan_forced_shares(benchmark::State& state) {
  const Machine machine = load_machine("beluga");
  const Pair pair = pair_of(machine, "gpu0", "gpu1");
  PlanOptions options;
  options.shares = {{"direct", 0.4}, {"gpu2", 0.3}, {"gpu3", 0.3}};
  for (auto _ : state) {
    Planner planner(machine, {});
    benchmark::DoNotOptimize(planner.plan(pair.source, pair.destination, 64_MiB, options));
  }
}
BENCHMARK(plan_forced_shares)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace polypath::bench
