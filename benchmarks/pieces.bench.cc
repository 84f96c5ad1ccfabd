// What Engine::copy_many costs the calling thread for thousands of blocks that kernels copy. The
// simulated driver stands in for the real one, timing only: it is called once for each group.

#include <benchmark/benchmark.h>

#include <cstddef>
#include <vector>

#include "driver/sim/sim_driver.h"
#include "engine/engine.h"
#include "machine/load_machine.h"

namespace polypath::bench {
namespace {

constexpr std::size_t kBlocks = 4096;
constexpr Bytes kBlock = 64_KiB;

// Blocks of a cache in a GPU's memory and the host's, each in an order of its own.
class Blocks {
 public:
  Blocks()
      : driver_(load_machine("h200x4"), {false, false, false}),
        engine_(driver_, driver_.machine(), {}),
        gpu_(driver_.machine().find_place("gpu0")),
        stream_(driver_.create_stream(gpu_)) {
    const PlaceId host = driver_.machine().nearest_host(gpu_);
    const Address source = driver_.allocate(gpu_, kBlock * kBlocks);
    const Address destination = driver_.allocate(host, kBlock * kBlocks);
    for (std::size_t block = 0; block < kBlocks; ++block)
      calls_.push_back({.destination = destination + kBlock * (block * 7 % kBlocks),
                        .source = source + kBlock * (block * 5 % kBlocks),
                        .bytes = kBlock,
                        .stream = stream_,
                        .stream_gpu = gpu_});
  }

  void copy() { benchmark::DoNotOptimize(engine_.copy_many(calls_)); }
  void synchronize() { driver_.synchronize(stream_); }

 private:
  sim::SimDriver driver_;
  Engine engine_;
  PlaceId gpu_;
  StreamHandle stream_;
  std::vector<CopyCall> calls_;
};

void engine_blocks(benchmark::State& state) {
  Blocks blocks;
  for (auto _ : state) {
    blocks.copy();
    state.PauseTiming();
    blocks.synchronize();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(kBlocks));
}
BENCHMARK(engine_blocks)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace polypath::bench
