// What Engine::copy costs the calling thread beside the driver. The simulated driver stands in for
// the real one, timing only: its share is what a native copy on it costs.

#include <benchmark/benchmark.h>

#include <array>
#include <filesystem>
#include <memory>

#include "driver/sim/sim_driver.h"
#include "engine/engine.h"
#include "engine/load/load_tracker.h"
#include "machine/load_machine.h"

namespace polypath::bench {
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

  void copy(std::optional<Executor> executor) {
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
  measure(state, fixture, [&] { fixture.copy(std::nullopt); });
}
BENCHMARK(engine_copy_small);

void engine_copy_native(benchmark::State& state) {
  Fixture fixture(64_MiB);
  measure(state, fixture, [&] { fixture.copy(Executor::native); });
}
BENCHMARK(engine_copy_native);

void engine_copy_stream(benchmark::State& state) {
  Fixture fixture(64_MiB);
  measure(state, fixture, [&] { fixture.copy(Executor::stream); });
}
BENCHMARK(engine_copy_stream)->Unit(benchmark::kMicrosecond);

void engine_copy_graph(benchmark::State& state) {
  Fixture fixture(64_MiB);
  measure(state, fixture, [&] { fixture.copy(Executor::graph); });
}
BENCHMARK(engine_copy_graph)->Unit(benchmark::kMicrosecond);

// Two GPUs copy to each other, as under the preload library: it is natively that this is fastest,
// and the caller makes the native copies. What is left is what it costs to find that out.
class BothWays {
 public:
  explicit BothWays(bool with_ledger)
      : driver_(load_machine("h200x4"), {false, false, false}),
        engine_(driver_, driver_.machine(), {}, load(with_ledger)),
        copies_{copy_from(0, 1), copy_from(1, 0)} {}
  ~BothWays() { std::filesystem::remove_all(folder()); }

  void copy() {
    for (const Exchanged& copy : copies_)
      benchmark::DoNotOptimize(engine_.enqueue_or_leave(engine_.decide(copy.call, copy.ends)));
  }
  // As much as the copies would take.
  void pass_time() {
    for (const auto& [call, ends] : copies_)
      driver_.copy({.destination = call.destination,
                    .destination_place = ends.destination,
                    .source = call.source,
                    .source_place = ends.source,
                    .bytes = call.bytes},
                   call.stream);
    for (const Exchanged& copy : copies_) driver_.synchronize(copy.call.stream);
  }

 private:
  struct Exchanged {
    CopyCall call;
    CopyEnds ends;
  };

  static std::filesystem::path folder() {
    return std::filesystem::temp_directory_path() / "polypath-benchmark";
  }
  std::shared_ptr<LoadTracker> load(bool with_ledger) {
    const Machine& machine = driver_.machine();
    std::vector<std::string> names;
    for (const Place& place : machine.places) names.push_back(place.name);
    auto ledger =
        with_ledger ? std::make_unique<NodeLedger>(folder().string(), machine, names) : nullptr;
    return std::make_shared<LoadTracker>(machine, std::move(ledger));
  }
  Exchanged copy_from(std::int32_t from, std::int32_t to) {
    return {.call = {.destination = driver_.allocate({to}, 64_MiB),
                     .source = driver_.allocate({from}, 64_MiB),
                     .bytes = 64_MiB,
                     .stream = driver_.create_stream({from}),
                     .stream_gpu = {from}},
            .ends = {.destination = {to}, .source = {from}}};
  }

  sim::SimDriver driver_;
  Engine engine_;
  std::array<Exchanged, 2> copies_;
};

void engine_copy_native_both_ways(benchmark::State& state) {
  BothWays fixture(state.range(0) != 0);
  for (auto _ : state) {
    fixture.copy();
    state.PauseTiming();
    fixture.pass_time();
    state.ResumeTiming();
  }
}
BENCHMARK(engine_copy_native_both_ways)->ArgName("ledger")->Arg(0)->Arg(1);

}  // namespace
}  // namespace polypath::bench
