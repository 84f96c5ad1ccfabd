// A program that goes on when calls of the driver fail, as some may be made to do: a copy whose
// call returned success, and so did what waited for it, has all bytes right, and nothing is written
// to its destination later.
//
// Options: bytes, rounds.

#include <array>

#include "harm.h"

using namespace program;

namespace {

enum class Way { in, out, between, pageable_in, pageable_out };
constexpr std::array kWays = {Way::in, Way::out, Way::between, Way::pageable_in, Way::pageable_out};

std::size_t bytes() { return options().number("bytes", 16 * kMiB); }

bool into_gpu(Way way) { return way != Way::out && way != Way::pageable_out; }

// One copy with memory of its own.
struct Copy {
  Way way;
  std::uint64_t seed;
  bool blocking;
  CUdeviceptr to = 0, from = 0;
  int marked = -1;  // with which the destination has been filled afterwards
};

CUdeviceptr host_memory(bool pageable) {
  void* const memory = pageable ? std::malloc(bytes()) : pinned(bytes());
  std::memset(memory, 0, bytes());
  return reinterpret_cast<CUdeviceptr>(memory);
}

unsigned char* host(CUdeviceptr memory) {
  return reinterpret_cast<unsigned char*>(memory);  // NOLINT
}

// What is made here must be had; the program ends if it cannot.
Copy prepare(Way way, std::uint64_t seed) {
  Copy made{way, seed, seed % 2 == 0};
  const bool pageable = way == Way::pageable_in || way == Way::pageable_out;
  made.from =
      way == Way::in || way == Way::pageable_in ? host_memory(pageable) : filled(0, bytes(), seed);
  made.to = way == Way::between ? memory_on(1, bytes())
            : into_gpu(way)     ? memory_on(0, bytes())
                                : host_memory(pageable);
  if (way == Way::in || way == Way::pageable_in) {
    const auto wanted = pattern(bytes(), seed);
    std::memcpy(host(made.from), wanted.data(), bytes());
  }
  return made;
}

CUresult make(const Copy& copy, CUstream stream) {
  const auto in_stream = [&]() -> CUresult {
    if (copy.way == Way::in || copy.way == Way::pageable_in)
      return cuMemcpyHtoDAsync_v2(copy.to, host(copy.from), bytes(), stream);
    if (copy.way == Way::between) return cuMemcpyDtoDAsync_v2(copy.to, copy.from, bytes(), stream);
    return cuMemcpyDtoHAsync_v2(host(copy.to), copy.from, bytes(), stream);
  };
  const CUresult result = copy.blocking ? cuMemcpy(copy.to, copy.from, bytes()) : in_stream();
  return result != 0 ? result : cuCtxSynchronize();
}

// Small pieces; false if they cannot be read.
bool read_into(std::vector<unsigned char>& got, CUdeviceptr from) {
  got.resize(bytes());
  for (std::size_t at = 0; at < bytes(); at += kPiece)
    if (cuMemcpyDtoH_v2(got.data() + at, from + at, std::min(kPiece, bytes() - at)) != 0)
      return false;
  return true;
}

void expect_bytes(const Copy& copy, const std::vector<unsigned char>& wanted, const char* when) {
  std::vector<unsigned char> got;
  if (into_gpu(copy.way) && !read_into(got, copy.to)) return;
  const std::size_t wrong =
      into_gpu(copy.way) ? wrong_bytes(got.data(), wanted) : wrong_bytes(host(copy.to), wanted);
  if (wrong == 0) return;
  std::printf("copy %d of kind %d: %zu bytes wrong %s\n", static_cast<int>(copy.seed),
              static_cast<int>(copy.way), wrong, when);
  std::fflush(stdout);
  std::_Exit(5);
}

// What the program puts there next stays there.
void mark(Copy& copy) {
  const auto value = static_cast<unsigned char>(0x80 + copy.seed);
  if (into_gpu(copy.way)) {
    if (cuMemsetD8_v2(copy.to, value, bytes()) != 0 || cuCtxSynchronize() != 0) return;
  } else {
    std::memset(host(copy.to), value, bytes());
  }
  copy.marked = value;
}

void copies() {
  use(0);
  const CUstream stream = stream_on(0);
  std::vector<Copy> all;
  for (std::size_t round = 0; round < options().number("rounds", 3); ++round)
    for (const Way way : kWays) all.push_back(prepare(way, all.size()));
  use(0);
  int right = 0;
  for (Copy& copy : all) {
    if (make(copy, stream) != 0) continue;
    expect_bytes(copy, pattern(bytes(), copy.seed), "when it has been waited for");
    mark(copy);
    ++right;
  }
  for (const Copy& copy : all)
    if (copy.marked >= 0)
      expect_bytes(copy,
                   std::vector<unsigned char>(bytes(), static_cast<unsigned char>(copy.marked)),
                   "in the end");
  std::printf("# %d of %zu copies succeeded\n", right, all.size());
}

const Scenarios kScenarios = {{"copies", {2, copies}}};

}  // namespace

int main(int argc, char** argv) { return run_scenario(kScenarios, argc, argv); }
