// What benchmarks and frameworks do: one buffer for a window of copies that are all under way, a
// model's tensors into one GPU and on to another, and malloc memory in pieces as UCX has them.
//
// Options: bytes, window, rounds, tensors.

#include "harm.h"

using namespace program;

namespace {

int gpus() {
  int count = 0;
  CHECK(cuDeviceGetCount(&count));
  return count;
}

std::size_t bytes() { return options().number("bytes", 16 * kMiB); }
std::size_t window() { return options().number("window", 64); }
std::size_t rounds() { return options().number("rounds", 4); }

using Copy = std::function<void(CUstream)>;

void many_times(const Copy& copy) {
  const CUstream stream = stream_on(0);
  for (std::size_t round = 0; round < rounds(); ++round) {
    for (std::size_t i = 0; i < window(); ++i) copy(stream);
    CHECK(cuStreamSynchronize(stream));
  }
}

void one_buffer() {
  const auto wanted = pattern(bytes(), 1);
  const CUdeviceptr from = filled(0, bytes(), 1), to = memory_on(0, bytes());
  auto* host = static_cast<unsigned char*>(pinned(bytes()));
  many_times([&](CUstream s) { CHECK(cuMemcpyDtoHAsync_v2(host, from, bytes(), s)); });
  say_bytes("out", wrong_bytes(host, wanted));
  many_times([&](CUstream s) { CHECK(cuMemcpyHtoDAsync_v2(to, host, bytes(), s)); });
  say_bytes("in", wrong_bytes(to, wanted));
  if (gpus() < 2) return;
  const CUdeviceptr far = memory_on(1, bytes());
  many_times([&](CUstream s) { CHECK(cuMemcpyDtoDAsync_v2(far, from, bytes(), s)); });
  say_bytes("between GPUs", wrong_bytes(far, wanted));
}

struct Tensor {
  std::vector<unsigned char> bytes;
  unsigned char* pinned_bytes = nullptr;  // of every other one
  CUdeviceptr memory = 0, far = 0;
};

// From a kilobyte to 24 MiB, most of them small.
std::vector<Tensor> make_tensors() {
  std::vector<Tensor> all(options().number("tensors", 48));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t size = (std::size_t{1024} << (i % 15)) + i % 7 * (i % 15 == 14 ? kMiB : 256);
    all[i].bytes = pattern(size, i);
    all[i].memory = memory_on(0, size);
    if (gpus() > 1) all[i].far = memory_on(1, size);
    if (i / 15 % 2 == 0) continue;
    all[i].pinned_bytes = static_cast<unsigned char*>(pinned(size));
    std::memcpy(all[i].pinned_bytes, all[i].bytes.data(), size);
  }
  return all;
}

// In the default stream, as PyTorch does, and back.
void state_dict() {
  std::vector<Tensor> all = make_tensors();
  use(0);
  for (const Tensor& one : all) {
    const void* source = one.pinned_bytes != nullptr ? one.pinned_bytes : one.bytes.data();
    CHECK(cuMemcpyHtoDAsync_v2(one.memory, source, one.bytes.size(), nullptr));
  }
  if (gpus() > 1)
    for (const Tensor& one : all)
      CHECK(cuMemcpyDtoDAsync_v2(one.far, one.memory, one.bytes.size(), nullptr));
  std::size_t wrong = 0;
  for (const Tensor& one : all) {
    std::vector<unsigned char> back(one.bytes.size());
    CHECK(cuMemcpyDtoHAsync_v2(back.data(), one.far != 0 ? one.far : one.memory, back.size(),
                               nullptr));
    CHECK(cuStreamSynchronize(nullptr));
    wrong += wrong_bytes(back.data(), one.bytes);
  }
  say_bytes("tensors", wrong);
}

// Malloc memory in pieces of 4 MiB, all in one stream, and nothing waited for in between.
void pieces() {
  constexpr std::size_t kPieceOfUcx = 4 * kMiB;
  const std::size_t size = window() * kPieceOfUcx;
  const auto wanted = pattern(size, 3);
  std::vector<unsigned char> back(size);
  const CUdeviceptr memory = memory_on(0, size);
  const CUstream stream = stream_on(0);
  for (std::size_t at = 0; at < size; at += kPieceOfUcx)
    CHECK(cuMemcpyHtoDAsync_v2(memory + at, wanted.data() + at, kPieceOfUcx, stream));
  for (std::size_t at = 0; at < size; at += kPieceOfUcx)
    CHECK(cuMemcpyDtoHAsync_v2(back.data() + at, memory + at, kPieceOfUcx, stream));
  CHECK(cuStreamSynchronize(stream));
  say_bytes("pieces", wrong_bytes(back.data(), wanted));
}

// The first copies of a program, with nothing before them.
void first_copies() {
  const std::size_t size = bytes();
  for (std::uint64_t i = 0; i < 30; ++i) {
    const auto wanted = pattern(size, i);
    std::vector<unsigned char> back(size);
    const CUstream stream = stream_on(0);
    const CUdeviceptr memory = memory_on(0, size);
    CHECK(cuMemcpyHtoDAsync_v2(memory, wanted.data(), size, stream));
    CHECK(cuMemcpyDtoHAsync_v2(back.data(), memory, size, stream));
    CHECK(cuStreamSynchronize(stream));
    if (wrong_bytes(back.data(), wanted) != 0) std::printf("copy %d: wrong\n", static_cast<int>(i));
    CHECK(cuMemFree_v2(memory));
    CHECK(cuStreamDestroy_v2(stream));
  }
}

const Scenarios kScenarios = {
    {"one_buffer", {1, one_buffer}},
    {"state_dict", {1, state_dict}},
    {"pieces", {1, pieces}},
    {"first_copies", {1, first_copies}},
};

}  // namespace

int main(int argc, char** argv) { return run_scenario(kScenarios, argc, argv); }
