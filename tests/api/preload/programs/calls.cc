// How long the calling thread is busy with one copy: preload_calls [LARGEST] prints a line
// "OPERATION BYTES SECONDS" per kind of copy and size, a median over many calls. Run with and
// without Polypath it shows what a copy costs that passes through.

#include <algorithm>
#include <chrono>
#include <functional>

#include "cuda.h"

using namespace program;

namespace {

using Call = std::function<void(std::size_t)>;

constexpr std::size_t kSizes[] = {8, 4096, 65536, kMiB, 4 * kMiB, 16 * kMiB, 64 * kMiB};
constexpr int kInFlight = 4;  // no call waits for room in the driver's queue
constexpr int kRounds = 200, kWarmUp = 3;

double median_of_calls(const Call& call, std::size_t bytes, CUstream stream) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds;
  for (int round = -kWarmUp; round < kRounds; ++round) {
    for (int i = 0; i < kInFlight; ++i) {
      const auto start = Clock::now();
      call(bytes);
      if (round >= 0)
        seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    }
    CHECK(cuStreamSynchronize(stream));
  }
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

void measure(std::size_t largest) {
  const CUstream stream = stream_on(0);
  const CUdeviceptr here = memory_on(0, largest), there = memory_on(1, largest);
  use(0);
  void* const host = pinned(largest);
  const std::pair<const char*, Call> operations[] = {
      {"put", [&](std::size_t n) { CHECK(cuMemcpyDtoDAsync_v2(there, here, n, stream)); }},
      {"h2d", [&](std::size_t n) { CHECK(cuMemcpyHtoDAsync_v2(here, host, n, stream)); }},
      {"d2h", [&](std::size_t n) { CHECK(cuMemcpyDtoHAsync_v2(host, here, n, stream)); }}};
  for (const auto& [name, call] : operations)
    for (const std::size_t bytes : kSizes)
      if (bytes <= largest)
        std::printf("%s %zu %.9f\n", name, bytes, median_of_calls(call, bytes, stream));
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(cuInit(0));
  measure(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 64 * kMiB);
  return 0;
}
