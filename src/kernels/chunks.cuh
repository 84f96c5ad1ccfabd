#pragma once
// Copies of whole chunks by way of a block's shared memory, which one thread begins and none
// carries out (cp.async.bulk, on GPUs from 9.0 on). So few blocks fill a link, and leave the other
// multiprocessors to other kernels.
//
// One thread loads chunks, another one stores them, in the same order. They lie in a ring.

#include <cstdint>

namespace polypath::gpu {

constexpr std::uint64_t kChunk = 8 << 10;  // bytes
constexpr unsigned kChunks = 16;           // of the ring
// So many chunks may be leaving the ring, and so many may be on their way to where they are stored.
constexpr int kLeaving = 3, kOnTheirWay = 8;
// Chunks begin and end at multiples of it.
constexpr std::uint64_t kChunkAlignment = 16;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
constexpr bool kHasChunks = true;
#else
constexpr bool kHasChunks = false;
#endif

__device__ inline unsigned in_shared(const void* address) {
  return static_cast<unsigned>(__cvta_generic_to_shared(address));
}

// The kernel's shared memory beside what it declares, as it was launched.
__device__ inline unsigned dynamic_shared_bytes() {
  unsigned bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  return bytes;
}

// What other threads have written is seen by copies that this thread begins, if it has seen that
// they have; and the other way round.
__device__ inline void order_with_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async;" ::: "memory");
#endif
}

// By threads that pass a barrier of the block afterwards, as all do that use it.
__device__ inline void begin_barrier(std::uint64_t& barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(in_shared(&barrier)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}
// True once what the barrier expects has come so often; `odd` is that number's last bit.
__device__ inline bool has_come(unsigned barrier, unsigned odd) {
  unsigned has = 1;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile(
      "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; "
      "}"
      : "=r"(has)
      : "r"(barrier), "r"(odd)
      : "memory");
#endif
  return has != 0;
}

__device__ inline void await(unsigned barrier, unsigned odd) {
  while (!has_come(barrier, odd)) {
  }
}
__device__ inline void arrive(unsigned barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
#endif
}
// Into shared memory; it comes at the barrier.
__device__ inline void load_chunk(unsigned to, const char* from, unsigned bytes, unsigned barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(to),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
#endif
}
// Out of shared memory, as a group of its own.
__device__ inline void store_chunk(char* to, unsigned from, unsigned bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from),
               "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#endif
}

// What both threads know of the ring, in shared memory: barriers of its places.
struct Ring {
  std::uint64_t full[kChunks];  // the next chunk there has come
  std::uint64_t free[kChunks];  // the last one there has left

  // By all threads of the block, before a barrier of it.
  __device__ void begin() {
    if (threadIdx.x < kChunks) begin_barrier(full[threadIdx.x]);
    else if (threadIdx.x < 2 * kChunks) begin_barrier(free[threadIdx.x - kChunks]);
  }
};

// The chunks of a ring as one of its threads goes through them.
class RingEnd {
 public:
  __device__ RingEnd(Ring& ring, char* chunks)
      : full_(in_shared(ring.full)), free_(in_shared(ring.free)), chunks_(in_shared(chunks)) {}

 protected:
  [[nodiscard]] __device__ static unsigned place_of(unsigned number) { return number % kChunks; }
  [[nodiscard]] __device__ static unsigned turn_of(unsigned number) { return number / kChunks & 1; }
  [[nodiscard]] __device__ unsigned full(unsigned number) const {
    return full_ + place_of(number) * static_cast<unsigned>(sizeof(std::uint64_t));
  }
  [[nodiscard]] __device__ unsigned free(unsigned number) const {
    return free_ + place_of(number) * static_cast<unsigned>(sizeof(std::uint64_t));
  }
  [[nodiscard]] __device__ unsigned chunk(unsigned number) const {
    return chunks_ + place_of(number) * static_cast<unsigned>(kChunk);
  }

  unsigned full_, free_, chunks_;
  unsigned number_ = 0;  // of the next chunk
};

class RingLoader : public RingEnd {
 public:
  using RingEnd::RingEnd;

  // Waits until the ring has room.
  __device__ void load(const char* from, unsigned bytes) {
    if (number_ >= kChunks) await(free(number_), turn_of(number_) ^ 1);
    load_chunk(chunk(number_), from, bytes, full(number_));
    ++number_;
  }
};

class RingStorer : public RingEnd {
 public:
  using RingEnd::RingEnd;

  // True once the next chunk has come.
  [[nodiscard]] __device__ bool has_next() const {
    return has_come(full(number_), turn_of(number_));
  }
  // Of the next chunk, which has come.
  __device__ void store(char* to, unsigned bytes) {
    store_chunk(to, chunk(number_), bytes);
    ++number_;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kLeaving) : "memory");
#endif
    if (number_ > kLeaving) arrive(free(number_ - kLeaving - 1));
  }
  // Until all but so many chunks, kOnTheirWay at most, are stored, which this thread sees.
  __device__ static void await_all_but(unsigned last) { await_stored<kOnTheirWay>(last); }

 private:
  template <int kLast>
  __device__ static void await_stored(unsigned last) {
    if (kLast > 0 && last < kLast) return await_stored<(kLast > 0 ? kLast - 1 : 0)>(last);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kLast) : "memory");
#endif
  }
};

// Bytes of a place of its own in which a warp moves chunks one after another.
constexpr std::uint64_t kOwnChunk = 8 << 10;

// By one thread.
class ChunkMover {
 public:
  __device__ ChunkMover(std::uint64_t& barrier, char* place)
      : barrier_(in_shared(&barrier)), place_(in_shared(place)) {}

  __device__ void move(const char* from, char* to, unsigned bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
    load_chunk(place_, from, bytes, barrier_);
    await(barrier_, moved_ & 1);
    ++moved_;
    store_chunk(to, place_, bytes);
  }
  // All is where it goes then.
  __device__ void finish() const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
  }

 private:
  unsigned barrier_, place_;
  unsigned moved_ = 0;
};

}  // namespace polypath::gpu
