// What Engine::copy costs the calling thread beside the driver. The simulated driver stands in for
// the real one, timing only: its share is what a native copy on it costs.

#include <benchmark/benchmark.h>

#include "driver/sim/sim_driver.h"
#include "engine/engine.h"
#include "machine/library.h"

namespace polypath {
namespace {

// One pair of GPUs with buffers, and an engine.
class Fixture {
 public:
  explicit Fixture(Bytes bytes)
      : driver_(load_machine("beluga"), {false, false, false}),
        engine_(driver_, driver_.machine(), {}),
        gpu_(driver_.machine().find_place("gpu0")),
        call_{driver_.allocate(driver_.machine().find_place("gpu1"), bytes),
              driver_.allocate(gpu_, bytes),
              bytes,
              driver_.create_stream(gpu_),
              gpu_,
              {}} {}

  void copy(ExecutorChoice executor) {
    call_.options.executor = executor;
    benchmark::DoNotOptimize(engine_.copy(call_));
  }
  void copy_without_engine() {
    driver_.copy({call_.destination,
                  driver_.machine().find_place("gpu1"),
                  call_.source,
                  gpu_,
                  call_.bytes,
                  {}},
                 call_.stream);
  }
  void synchronize() { driver_.synchronize(call_.stream); }

 private:
  sim::SimDriver driver_;
  Engine engine_;
  PlaceId gpu_;
  CopyCall call_;
};

// Between measurements the simulated machine catches up.
template <class Copy>
void measure(benchmark::State& state, Fixture& fixture, Copy copy) {
  for (auto _ : state) {
    copy();
    state.PauseTiming();
    fixture.synchronize();
    state.ResumeTiming();
  }
}

void driver_copy(benchmark::State& state) {
  Fixture fixture(64_KiB);
  measure(state, fixture, [&] { fixture.copy_without_engine(); });
}
BENCHMARK(driver_copy);

// A small message passes through: this less driver_copy is what the engine adds.
void engine_copy_small(benchmark::State& state) {
  Fixture fixture(64_KiB);
  measure(state, fixture, [&] { fixture.copy(ExecutorChoice::automatic); });
}
BENCHMARK(engine_copy_small);

void engine_copy_native(benchmark::State& state) {
  Fixture fixture(64_MiB);
  measure(state, fixture, [&] { fixture.copy(ExecutorChoice::native); });
}
BENCHMARK(engine_copy_native);

void engine_copy_stream(benchmark::State& state) {
  Fixture fixture(64_MiB);
  measure(state, fixture, [&] { fixture.copy(ExecutorChoice::stream); });
}
BENCHMARK(engine_copy_stream)->Unit(benchmark::kMicrosecond);

void engine_copy_graph(benchmark::State& state) {
  Fixture fixture(64_MiB);
  measure(state, fixture, [&] { fixture.copy(ExecutorChoice::graph); });
}
BENCHMARK(engine_copy_graph)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace polypath
