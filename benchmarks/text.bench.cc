#include "core/text.h"

#include <benchmark/benchmark.h>

namespace polypath::bench {
namespace {

void parse_size(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(parse_bytes("512MiB"));
}
BENCHMARK(parse_size);

}  // namespace
}  // namespace polypath::bench
