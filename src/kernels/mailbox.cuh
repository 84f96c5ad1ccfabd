#pragma once
// The common parts of kernels that exchange messages, for lines and parcels (mailbox_layout.h).

#include <cstdint>

#include "kernels/mailbox_layout.h"

namespace polypath::kernels::gpu {

constexpr unsigned kLooksBetweenChecks = 1
                                         << 12;  // looks at a flag between two at whether to go on

// Eight bytes of memory, as many of them as there are before its end.
__device__ inline std::uint64_t load_word(const char* from, std::uint64_t left) {
  if (left >= 8 && reinterpret_cast<std::uintptr_t>(from) % 8 == 0)
    return *reinterpret_cast<const std::uint64_t*>(from);
  std::uint64_t word = 0;
  for (int i = 0; i < 8; ++i)
    if (i < left) word |= std::uint64_t{static_cast<unsigned char>(from[i])} << 8 * i;
  return word;
}
__device__ inline void store_word(char* to, std::uint64_t left, std::uint64_t word) {
  if (left >= 8 && reinterpret_cast<std::uintptr_t>(to) % 8 == 0) {
    *reinterpret_cast<std::uint64_t*>(to) = word;
    return;
  }
  for (int i = 0; i < 8; ++i)
    if (i < left) to[i] = static_cast<char>(word >> 8 * i);
}

// A word of a rank's own head.
__device__ inline volatile std::uint32_t* head(const MailParameters& of, std::uint64_t offset) {
  return reinterpret_cast<volatile std::uint32_t*>(of.mailboxes[of.rank] + offset);
}
__device__ inline bool is_abandoned(const MailParameters& of) {
  return *head(of, kMailAbandoned) != 0;
}

// The number of the call's first lap. All threads of a block call it together.
__device__ inline std::uint32_t begin_call(const MailParameters& of) {
  __shared__ std::uint32_t calls;
  if (threadIdx.x == 0) calls = *head(of, kMailCalls) + 1;
  __syncthreads();
  return calls;
}

// Which of the blocks it is, in the order in which they start. All threads of a block call it
// together.
__device__ inline std::uint32_t number_of_block(const MailParameters& of) {
  __shared__ std::uint32_t number;
  if (threadIdx.x == 0) number = atomicAdd(const_cast<std::uint32_t*>(head(of, kMailStarted)), 1);
  __syncthreads();
  return number;
}

// The last block to be done counts the call's laps.
__device__ inline void finish_call(const MailParameters& of, std::uint32_t laps = 1) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  auto* const finished = const_cast<std::uint32_t*>(head(of, kMailFinished));
  __threadfence();
  if (atomicAdd(finished, 1) != gridDim.x - 1) return;
  *finished = 0;
  *head(of, kMailStarted) = 0;
  __threadfence();
  *head(of, kMailCalls) += laps;
}

}  // namespace polypath::kernels::gpu
