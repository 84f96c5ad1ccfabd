// A program that takes all memory of a GPU after large copies gets as much as it would get alone,
// and its copies are right when nothing is left.
//
// Options: bytes (of copies), piece (of allocations).

#include "copies_of_all_kinds.h"

using namespace program;

namespace {

using AllCopies = std::vector<std::unique_ptr<CopiesOfAllKinds>>;

AllCopies copies_of(int gpu) {
  AllCopies made;
  made.push_back(std::make_unique<CopiesOfAllKinds>(gpu, options().number("bytes", 64 * kMiB)));
  return made;
}

// What is made for one of them takes memory of another.
AllCopies copies_of_all_gpus() {
  int gpus = 0;
  CHECK(cuDeviceGetCount(&gpus));
  AllCopies made;
  for (int gpu = 0; gpu < gpus; ++gpu)
    made.push_back(std::make_unique<CopiesOfAllKinds>(gpu, options().number("bytes", 64 * kMiB)));
  return made;
}

void say_copies(const AllCopies& all, const char* when) {
  std::size_t wrong = 0;
  for (const auto& copies : all) wrong += copies->rounds(3);
  say_bytes(when, wrong);
}

// Staging memory may take as many allocations as `staging`.
void until_full(int gpu, const AllCopies& copies, int staging) {
  say_copies(copies, "before");
  use(gpu);
  std::vector<CUdeviceptr> all;
  CUdeviceptr memory = 0;
  int result = 0;
  while ((result = cuMemAlloc_v2(&memory, options().number("piece", 64 * kMiB))) == 0)
    all.push_back(memory);
  std::printf("allocations of GPU %d ~%d: %zu\n", gpu, staging, all.size());
  std::printf("then: %d\n", result);
  say_copies(copies, "when nothing is left");
  use(gpu);
  for (const CUdeviceptr one : all) CHECK(cuMemFree_v2(one));
  say_copies(copies, "after all has been given back");
}

void first_gpu_until_full() { until_full(0, copies_of(0), 1); }
void second_gpu_until_full() { until_full(1, copies_of(1), 1); }
// A relay of all others has up to four lanes of 32 MiB for each hop into it.
void relay_until_full() { until_full(0, copies_of_all_gpus(), 4); }

// Pinned memory, and streams and events by the hundred.
void many_things() {
  CopiesOfAllKinds copies(0, options().number("bytes", 64 * kMiB));
  say_bytes("before", copies.rounds(2));
  for (int i = 0; i < 300; ++i) {
    const CUstream stream = stream_on(0);
    CUevent event = nullptr;
    CHECK(cuEventCreate(&event, 2));
    CHECK(cuEventRecord(event, stream));
    if (i % 2 == 0) continue;
    CHECK(cuEventDestroy_v2(event));
    CHECK(cuStreamDestroy_v2(stream));
  }
  say_bytes("with many streams", copies.rounds(2));
}

const Scenarios kScenarios = {
    {"first_gpu_until_full", {1, first_gpu_until_full}},
    {"second_gpu_until_full", {2, second_gpu_until_full}},
    {"relay_until_full", {2, relay_until_full}},
    {"many_things", {1, many_things}},
};

}  // namespace

int main(int argc, char** argv) { return run_scenario(kScenarios, argc, argv); }
