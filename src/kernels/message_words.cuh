#pragma once
// Messages in words of 16 bytes, wherever they begin and end, some words at a time.

#include <cstdint>

#include "kernels/mailbox.cuh"

namespace polypath::kernels::gpu {

constexpr std::uint64_t kWord = sizeof(uint4);
constexpr int kInFlight = 8;  // words of a thread

// 16 bytes at any address, or as many of them as there are before the end. Few are: not inline.
static __noinline__ __device__ uint4 load_bytes(const char* from, std::uint64_t left) {
  const std::uint64_t low = load_word(from, left);
  const std::uint64_t high = left > 8 ? load_word(from + 8, left - 8) : 0;
  return {static_cast<unsigned>(low), static_cast<unsigned>(low >> 32), static_cast<unsigned>(high),
          static_cast<unsigned>(high >> 32)};
}
static __noinline__ __device__ void store_bytes(char* to, std::uint64_t left, uint4 word) {
  store_word(to, left, std::uint64_t{word.y} << 32 | word.x);
  if (left > 8) store_word(to + 8, left - 8, std::uint64_t{word.w} << 32 | word.z);
}

// Threads that do something together: how many, and which of them this one is.
struct Team {
  unsigned threads, own;
};

// Offsets of words of a parcel that one thread has at a time; those beyond its end are none.
struct Words {
  std::uint64_t at, end, step;

  [[nodiscard]] __device__ std::uint64_t offset(int k) const {
    return at + std::uint64_t(k) * step;
  }
  [[nodiscard]] __device__ bool has(int k) const { return offset(k) < end; }
};

// A message's bytes, in any rank's memory. Most words are whole and lie where they can be loaded
// and stored at once; then nothing stands between one access and the next.
struct Message {
  char* begin;
  std::uint64_t bytes;

  __device__ void load(const Words& words, uint4 (&loaded)[kInFlight]) const {
    if (is_simple(words)) {
#pragma unroll
      for (int k = 0; k < kInFlight; ++k)
        if (words.has(k)) loaded[k] = *reinterpret_cast<const uint4*>(begin + words.offset(k));
      return;
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k)
      if (words.has(k)) loaded[k] = load_bytes(begin + words.offset(k), bytes - words.offset(k));
  }
  __device__ void store(const Words& words, const uint4 (&stored)[kInFlight]) const {
    if (is_simple(words)) {
#pragma unroll
      for (int k = 0; k < kInFlight; ++k)
        if (words.has(k)) *reinterpret_cast<uint4*>(begin + words.offset(k)) = stored[k];
      return;
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k)
      if (words.has(k)) store_bytes(begin + words.offset(k), bytes - words.offset(k), stored[k]);
  }

 private:
  // Of the end of a message the last word may be a part.
  [[nodiscard]] __device__ bool is_simple(const Words& words) const {
    return words.end % kWord == 0 && reinterpret_cast<std::uintptr_t>(begin) % kWord == 0;
  }
};

// Applies the team's action to the words from `begin` to `end`, some at a time.
template <class Do>
__device__ void for_words(const Team& team, std::uint64_t begin, std::uint64_t end, Do what) {
  const std::uint64_t step = team.threads * kWord;
  for (std::uint64_t at = begin + team.own * kWord; at < end; at += kInFlight * step)
    what(Words{at, end, step});
}

__device__ inline void move(const Team& team, std::uint64_t begin, std::uint64_t end,
                            const Message& from, const Message& to) {
  for_words(team, begin, end, [&](const Words& words) {
    uint4 loaded[kInFlight];
    from.load(words, loaded);
    to.store(words, loaded);
  });
}

}  // namespace polypath::kernels::gpu
