// What a communicator costs per call: all ends are in one process and called in turn.

#include "communicator/communicator.h"

#include <benchmark/benchmark.h>

#include <thread>
#include <vector>

namespace polypath::bench {
namespace {

std::vector<std::unique_ptr<Communicator>> communicators(int ranks) {
  auto bootstraps = bootstrap_among_threads(ranks);
  std::vector<std::unique_ptr<Communicator>> all(bootstraps.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < all.size(); ++i)
    threads.emplace_back(
        [&, i] { all[i] = std::make_unique<Communicator>(std::move(bootstraps[i])); });
  for (std::thread& thread : threads) thread.join();
  return all;
}

// Time per call of one rank.
void begin_calls(benchmark::State& state) {
  const auto ranks = communicators(static_cast<int>(state.range(0)));
  const CallRecord call{.operation = "allreduce", .type = "float32", .count = 1024};
  while (state.KeepRunningBatch(state.range(0)))
    for (const auto& rank : ranks) benchmark::DoNotOptimize(rank->begin(call));
}
BENCHMARK(begin_calls)->Arg(1)->Arg(2)->Arg(8);

}  // namespace
}  // namespace polypath::bench
