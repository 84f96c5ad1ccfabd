// A program that takes all memory of a GPU after large copies gets as much as it would get alone,
// and its copies are right when nothing is left.
//
// Options: bytes (of copies), piece (of allocations), idle and time (milliseconds).

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

// As the CUDA runtime finds it.
decltype(&cuMemAlloc_v2) allocation() {
  void* found = nullptr;
  CHECK(cuGetProcAddress_v2("cuMemAlloc", &found, 12000, 0, nullptr));
  return reinterpret_cast<decltype(&cuMemAlloc_v2)>(found);
}

void until_full(int gpu, const AllCopies& copies) {
  say_copies(copies, "before");
  use(gpu);
  std::vector<CUdeviceptr> all;
  CUdeviceptr memory = 0;
  int result = 0;
  const auto allocate = allocation();
  while ((result = allocate(&memory, options().number("piece", 64 * kMiB))) == 0)
    all.push_back(memory);
  std::printf("allocations of GPU %d: %zu\n", gpu, all.size());
  std::printf("then: %d\n", result);
  say_copies(copies, "when nothing is left");
  use(gpu);
  for (const CUdeviceptr one : all) CHECK(cuMemFree_v2(one));
  say_copies(copies, "after all has been given back");
}

void first_gpu_until_full() { until_full(0, copies_of(0)); }
void second_gpu_until_full() { until_full(1, copies_of(1)); }
// It has staging memory for copies of all others.
void relay_until_full() { until_full(0, copies_of_all_gpus()); }

std::size_t free_on(int gpu) {
  std::size_t free = 0, total = 0;
  use(gpu);
  CHECK(cuMemGetInfo_v2(&free, &total));
  return free;
}

// An allocation that finds no room fails at once, also while a stream is held. All is found that
// was free then; staging memory of copies that are held is not given back.
void full_while_held() {
  const AllCopies copies = copies_of_all_gpus();
  say_copies(copies, "before");
  use(0);
  const CUstream stream = stream_on(0);
  const std::size_t bytes = options().number("bytes", 64 * kMiB);
  const CUdeviceptr to = memory_on(0, bytes);
  void* const from = pinned(bytes);
  Hold hold(usual_hold(By::function));
  hold.in(stream);
  CHECK(cuMemcpyHtoDAsync_v2(to, from, bytes, stream));
  const std::size_t piece = options().number("piece", 64 * kMiB);
  const std::size_t most = free_on(0) / piece;
  const auto allocate = allocation();
  std::vector<CUdeviceptr> all;
  CUdeviceptr memory = 0;
  const bool blocked = blocks(hold, [&] {
    while (allocate(&memory, piece) == 0) all.push_back(memory);
  });
  hold.release();
  std::printf("of what was free: %s\n", all.size() + 1 >= most ? "all" : "less");
  say_blocked("they", blocked);
  for (const CUdeviceptr one : all) CHECK(cuMemFree_v2(one));
  say_copies(copies, "after all has been given back");
}

// Once nothing has been copied for a while, as much is free as before: Polypath reads at the first
// copy how long that is.
void free_again() {
  CHECK(setenv("POLYPATH_GIVE_BACK_AFTER", "0.2", 0));
  const AllCopies copies = copies_of_all_gpus();
  const std::size_t piece = options().number("piece", 16 * kMiB);
  std::vector<std::size_t> before;
  for (int gpu = 0; gpu < static_cast<int>(copies.size()); ++gpu) before.push_back(free_on(gpu));
  say_copies(copies, "several paths");
  const auto lacks = [&](int gpu) {
    return (before[static_cast<std::size_t>(gpu)] - free_on(gpu)) / piece * piece / kMiB;
  };
  const auto lacks_any = [&] {
    for (int gpu = 0; gpu < static_cast<int>(copies.size()); ++gpu)
      if (lacks(gpu) > 0) return true;
    return false;
  };
  constexpr std::chrono::milliseconds kLook{20};
  for (std::chrono::milliseconds left(options().number("idle", 60000));
       left.count() > 0 && lacks_any(); left -= kLook)
    std::this_thread::sleep_for(kLook);
  for (int gpu = 0; gpu < static_cast<int>(copies.size()); ++gpu)
    std::printf("GPU %d lacks %zu MiB\n", gpu, lacks(gpu));
  say_copies(copies, "again");
}

// As a state_dict is brought to a GPU, by the CUDA runtime. Says how far apart allocations were.
void state_dict() {
  const auto allocate = allocation();
  const std::size_t bytes = options().number("bytes", 64 * kMiB);
  const CUstream stream = stream_on(0);
  use(0);
  std::vector<char> pageable(bytes);
  void* const from = options().text("from", "pinned") == "pinned" ? pinned(bytes) : pageable.data();
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  auto last = begin;
  auto longest = Clock::duration::zero();
  while (Clock::now() - begin < std::chrono::milliseconds(options().number("time", 300))) {
    longest = std::max(longest, Clock::now() - last);
    last = Clock::now();
    CUdeviceptr to = 0;
    CHECK(allocate(&to, bytes));
    CHECK(cuMemcpyHtoDAsync_v2(to, from, bytes, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemFree_v2(to));
  }
  std::printf("# longest pause: %lld ms\n",
              static_cast<long long>(
                  std::chrono::duration_cast<std::chrono::milliseconds>(longest).count()));
}

// Without a copy.
void one_allocation() {
  use(0);
  CUdeviceptr memory = 0;
  CHECK(allocation()(&memory, options().number("bytes", 64 * kMiB)));
  CHECK(cuMemFree_v2(memory));
}

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
    {"state_dict", {1, state_dict}},
    {"one_allocation", {1, one_allocation}},
    {"free_again", {1, free_again}},
    {"full_while_held", {1, full_while_held}},
};

}  // namespace

int main(int argc, char** argv) { return run_scenario(kScenarios, argc, argv); }
