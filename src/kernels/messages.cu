// One rank's end of several messages: see messages.h. Block 0 has all waits, a thread each; the
// blocks behind it copy.

#include "kernels/copy_words.cuh"
#include "kernels/messages_layout.h"

using namespace polypath::kernels;  // NOLINT(google-build-using-namespace): kernels have C's names

namespace {

constexpr int kThreads = kMessageThreads;
constexpr std::uint64_t kUnit = 32768;
constexpr unsigned kNanosecondsBetweenLooks = 20;
constexpr unsigned kLooksBetweenChecks = 1 << 8;  // two looks at whether to go on

struct Parameters {
  std::uint64_t words[kMostMessageWords];

  __device__ std::uint64_t copies() const { return words[kMessageCopies]; }
  __device__ std::uint64_t waits() const { return words[kMessageWaits]; }
  __device__ std::uint64_t tasks() const { return copies() + waits(); }
  __device__ std::uint32_t value(std::uint64_t task) const {
    return static_cast<std::uint32_t>(words[value_word(task)]);
  }
  __device__ std::uint32_t* flag(std::uint64_t word) const {
    return reinterpret_cast<std::uint32_t*>(words[word]);
  }
  __device__ std::uint32_t* state() const { return flag(state_word(tasks())); }
};

__device__ std::uint32_t acquire(const std::uint32_t* word) {
  std::uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}

__device__ void release(std::uint32_t* word, std::uint32_t value) {
  __threadfence_system();
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

// False once nothing is waited for any more.
__device__ bool await(const Parameters& parameters, const std::uint32_t* word,
                      std::uint32_t value) {
  for (unsigned looks = 1; !is_signalled(acquire(word), value); ++looks) {
    const std::uint32_t* const abandoned = parameters.state() + kMessagesAbandoned;
    if (looks % kLooksBetweenChecks == 0 && acquire(abandoned) != 0) return false;
    __nanosleep(kNanosecondsBetweenLooks);
  }
  return true;
}

__device__ void wait_for(const Parameters& parameters, std::uint64_t wait) {
  const std::uint64_t first = wait_word(parameters.copies(), parameters.waits(), wait);
  const std::uint32_t value = parameters.value(parameters.copies() + wait);
  release(parameters.flag(first + kWaitSignal), value);
  (void)await(parameters, parameters.flag(first + kWaitAwaited), value);
}

// All threads of a block call it together: it is true in all of them, or in none.
__device__ bool is_ready(const Parameters& parameters, std::uint64_t copy) {
  __shared__ bool ready;
  const std::uint32_t* const awaited =
      parameters.flag(copy_word(parameters.tasks(), copy) + kCopyAwaited);
  if (threadIdx.x == 0)
    ready = awaited == nullptr || await(parameters, awaited, parameters.value(copy));
  __syncthreads();
  return ready;
}

// The last block of a copy tells the other end.
__device__ void finish(const Parameters& parameters, std::uint64_t copy) {
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x != 0) return;
  std::uint32_t* const counter = parameters.state() + parameters.words[kMessageCounter] + copy;
  __threadfence_system();
  if (atomicAdd(counter, 1) != parameters.words[kMessageBlocks] - 1) return;
  *counter = 0;
  std::uint32_t* const signal = parameters.flag(copy_word(parameters.tasks(), copy) + kCopySignal);
  if (signal != nullptr) release(signal, parameters.value(copy));
}

__device__ void copy_for(const Parameters& parameters, std::uint64_t copy, std::uint64_t block) {
  if (!is_ready(parameters, copy)) return;
  const std::uint64_t first = copy_word(parameters.tasks(), copy);
  const std::uint64_t bytes = parameters.words[bytes_word(copy)];
  const std::uint64_t step = parameters.words[kMessageBlocks] * kUnit;
  const auto* source = reinterpret_cast<const char*>(parameters.words[first + kCopySource]);
  auto* destination = reinterpret_cast<char*>(parameters.words[first + kCopyDestination]);
  for (std::uint64_t at = block * kUnit; at < bytes; at += step) {
    const std::uint64_t left = bytes - at;
    gpu::copy_unit<kThreads>(destination + at, source + at, left < kUnit ? left : kUnit);
  }
  finish(parameters, copy);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    messages(const __grid_constant__ Parameters parameters) {
  if (blockIdx.x == 0) {
    if (threadIdx.x < parameters.waits()) wait_for(parameters, threadIdx.x);
    return;
  }
  const std::uint64_t blocks = parameters.words[kMessageBlocks];
  copy_for(parameters, (blockIdx.x - 1) / blocks, (blockIdx.x - 1) % blocks);
}
