// Programs that switch access between GPUs on and off themselves: what each such call returns, and
// whether copies are right before and after.
//
// Options: bytes.

#include "peers.h"

using namespace program;

namespace {

void copy_then_enable() {
  const Pair gpus;
  say_copies("before", gpus.first, gpus.second);
  say_result("enable", enable(gpus.first, gpus.second));
  say_result("the other way", enable(gpus.second, gpus.first));
  say_copies("after", gpus.first, gpus.second);
  say_result("enable again", enable(gpus.first, gpus.second));
  say_result("the other way again", enable(gpus.second, gpus.first));
  say_copies("at the end", gpus.first, gpus.second);
}

void enable_then_copy() {
  const Pair gpus;
  say_result("enable", enable(gpus.first, gpus.second));
  say_copies("with one way", gpus.first, gpus.second);
  say_result("enable again", enable(gpus.first, gpus.second));
  say_result("the other way", enable(gpus.second, gpus.first));
  say_copies("at the end", gpus.first, gpus.second);
}

void disable_and_enable() {
  const Pair gpus;
  say_result("disable at first", disable(gpus.first, gpus.second));
  say_copies("before", gpus.first, gpus.second);
  say_result("disable what is not enabled", disable(gpus.first, gpus.second));
  say_result("enable", enable(gpus.first, gpus.second));
  say_copies("with one way", gpus.first, gpus.second);
  say_result("disable", disable(gpus.first, gpus.second));
  say_result("disable again", disable(gpus.first, gpus.second));
  say_copies("without", gpus.first, gpus.second);
  say_result("enable once more", enable(gpus.first, gpus.second));
  say_result("and again", enable(gpus.first, gpus.second));
  say_result("disable the other way", disable(gpus.second, gpus.first));
  say_copies("at the end", gpus.first, gpus.second);
}

void what_makes_no_sense() {
  const Pair gpus;
  say_copies("before", gpus.first, gpus.second);
  say_result("enable with oneself", enable(gpus.first, gpus.first));
  say_result("disable with oneself", disable(gpus.first, gpus.first));
  say_result("enable with nobody", enable(gpus.first, nullptr));
  CHECK(cuCtxSetCurrent(gpus.first));
  say_result("enable with flags", cuCtxEnablePeerAccess(gpus.second, 1));
  say_result("enable", enable(gpus.first, gpus.second));
}

// Where a driver grants access through which no byte arrives, this program is right all the same.
void never_enabled() {
  const Pair gpus;
  const auto expected = pattern(bytes(), 3);
  CHECK(cuCtxSetCurrent(gpus.first));
  auto* const from = static_cast<unsigned char*>(pinned(bytes()));
  auto* const to = static_cast<unsigned char*>(pinned(bytes()));
  std::memcpy(from, expected.data(), bytes());
  const CUdeviceptr memory = memory_on(0, bytes());
  const CUstream stream = stream_on(0);
  for (int i = 0; i < 4; ++i) {
    std::memset(to, 0, bytes());
    CHECK(cuMemcpyHtoDAsync_v2(memory, from, bytes(), stream));
    CHECK(cuMemcpyDtoHAsync_v2(to, memory, bytes(), stream));
    CHECK(cuStreamSynchronize(stream));
    say_bytes("to the GPU and back", wrong_bytes(to, expected));
    say_copies("between GPUs", gpus.first, gpus.second);
  }
}

// A thread per GPU, as programs have it that give each GPU a part of a grid.
void thread_per_gpu() {
  const Pair gpus;
  say_copies("before", gpus.first, gpus.second);
  std::mutex one_at_a_time;
  int results[2] = {-1, -1};
  std::thread threads[2];
  for (int gpu = 0; gpu < 2; ++gpu)
    threads[gpu] = std::thread([&, gpu] {
      const CUcontext own = gpu == 0 ? gpus.first : gpus.second;
      const CUcontext others = gpu == 0 ? gpus.second : gpus.first;
      const std::scoped_lock lock(one_at_a_time);
      (void)wrong_copies(own, others);
      results[gpu] = enable(own, others);
    });
  for (std::thread& thread : threads) thread.join();
  say_result("GPU 0 enables", results[0]);
  say_result("GPU 1 enables", results[1]);
  say_copies("at the end", gpus.first, gpus.second);
}

// Threads that copy and threads that enable and disable, all at once.
void while_others_copy() {
  const Pair gpus;
  std::atomic<bool> done{false};
  std::size_t wrong[2] = {0, 0};
  std::thread copying[2];
  for (int i = 0; i < 2; ++i)
    copying[i] = std::thread([&, i] {
      for (int k = 0; k < 4; ++k)
        wrong[i] +=
            wrong_copies(i == 0 ? gpus.first : gpus.second, i == 0 ? gpus.second : gpus.first);
    });
  int unexpected = 0;
  for (int k = 0; k < 50; ++k) {
    unexpected += enable(gpus.first, gpus.second) != 0;
    unexpected += enable(gpus.first, gpus.second) != 704;
    unexpected += disable(gpus.first, gpus.second) != 0;
    unexpected += disable(gpus.first, gpus.second) != 705;
  }
  for (std::thread& thread : copying) thread.join();
  say_result("unexpected answers", unexpected);
  say_bytes("copies meanwhile", wrong[0] + wrong[1]);
}

// What was enabled went with the context.
void released_and_retained() {
  for (int i = 0; i < 2; ++i) {
    const Pair gpus;
    say_copies("before", gpus.first, gpus.second);
    say_result("enable", enable(gpus.first, gpus.second));
    say_copies("after", gpus.first, gpus.second);
    say_result("enable again", enable(gpus.first, gpus.second));
    CHECK(cuCtxSetCurrent(nullptr));
    CHECK(cuDevicePrimaryCtxRelease_v2(0));
    CHECK(cuDevicePrimaryCtxRelease_v2(1));
  }
}

void reset() {
  for (int i = 0; i < 2; ++i) {
    const Pair gpus;
    say_copies("before", gpus.first, gpus.second);
    say_result("enable", enable(gpus.first, gpus.second));
    say_copies("after", gpus.first, gpus.second);
    CHECK(cuDevicePrimaryCtxReset_v2(0));
    CHECK(cuDevicePrimaryCtxReset_v2(1));
  }
}

// Contexts of the program's own, beside the primary ones.
void own_contexts() {
  const Pair gpus;
  say_copies("before", gpus.first, gpus.second);
  for (int i = 0; i < 2; ++i) {
    CUcontext first = nullptr, second = nullptr;
    CHECK(cuCtxCreate_v2(&first, 0, 0));
    CHECK(cuCtxCreate_v2(&second, 0, 1));
    say_result("enable own with own", enable(first, second));
    say_result("own with primary", enable(first, gpus.second));
    say_result("again", enable(first, second));
    say_copies("in own", first, second);
    CHECK(cuCtxDestroy_v2(first));
    CHECK(cuCtxDestroy_v2(second));
  }
  say_result("enable primary with primary", enable(gpus.first, gpus.second));
  say_copies("at the end", gpus.first, gpus.second);
}

const Scenarios kScenarios = {
    {"never_enabled", {2, never_enabled}},
    {"copy_then_enable", {2, copy_then_enable}},
    {"enable_then_copy", {2, enable_then_copy}},
    {"disable_and_enable", {2, disable_and_enable}},
    {"what_makes_no_sense", {2, what_makes_no_sense}},
    {"thread_per_gpu", {2, thread_per_gpu}},
    {"while_others_copy", {2, while_others_copy}},
    {"released_and_retained", {2, released_and_retained}},
    {"reset", {2, reset}},
    {"own_contexts", {2, own_contexts}},
};

}  // namespace

int main(int argc, char** argv) { return run_scenario(kScenarios, argc, argv); }
