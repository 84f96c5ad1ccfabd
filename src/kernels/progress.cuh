#pragma once
// How far the warps of a block are.

#include "kernels/message_words.cuh"

namespace polypath::gpu {

constexpr unsigned kThreadsOfWarp = 32;

// The progress of a warp of a block, in shared memory: a warp that awaits it sees all that this
// warp has seen. Each warp has one of its own: the sum of two says nothing of the slower one.
class Count {
 public:
  __device__ explicit Count(unsigned& count) : count_(count) {}

  __device__ void note() const {
    __syncwarp();
    if (threadIdx.x % kThreadsOfWarp == 0) note_by_thread();
  }
  __device__ void note_by_thread() const {
    asm volatile("red.release.cta.shared.add.u32 [%0], 1;" ::"r"(address()) : "memory");
  }
  [[nodiscard]] __device__ bool has(unsigned least) const {
    unsigned seen;
    asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(seen) : "r"(address()) : "memory");
    return seen >= least;
  }

 private:
  [[nodiscard]] __device__ unsigned address() const {
    return static_cast<unsigned>(__cvta_generic_to_shared(&count_));
  }

  unsigned& count_;
};

// The progress of all warps of a team.
class Counts {
 public:
  __device__ Counts(unsigned* counts, unsigned warps) : counts_(counts), warps_(warps) {}

  // By a warp of the team.
  __device__ void note(const Team& team) const { Count(counts_[team.own / kThreadsOfWarp]).note(); }
  // By the only thread of the team.
  __device__ void note() const { Count(counts_[0]).note_by_thread(); }
  // By a warp.
  __device__ void await(unsigned least) const {
    while (!have(least)) {
    }
    __syncwarp();
  }
  [[nodiscard]] __device__ bool have(unsigned least) const {
    for (unsigned warp = 0; warp < warps_; ++warp)
      if (!Count(counts_[warp]).has(least)) return false;
    return true;
  }

 private:
  unsigned* counts_;
  unsigned warps_;
};

}  // namespace polypath::gpu
