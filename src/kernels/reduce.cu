// destination = destination ∘ source: see reduce.h.

#include "kernels/element.cuh"

namespace {

using polypath::gpu::with_reducer;

constexpr int kInFlight = 4;  // words of a thread

struct Parameters {
  std::uint64_t code, bytes, values;
  char* destination;
  const char* source;
};

__device__ std::uint64_t first_of_thread() {
  return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ std::uint64_t all_threads() { return std::uint64_t{gridDim.x} * blockDim.x; }

// At any address.
template <class Reducer>
__noinline__ __device__ void reduce_elements(Reducer reducer, char* destination, const char* source,
                                             std::uint64_t bytes) {
  using Element = typename Reducer::Element;
  for (std::uint64_t i = first_of_thread(); i < bytes / sizeof(Element); i += all_threads()) {
    Element a, b;
    memcpy(&a, destination + i * sizeof a, sizeof a);
    memcpy(&b, source + i * sizeof b, sizeof b);
    a = reducer.combine(a, b);
    memcpy(destination + i * sizeof a, &a, sizeof a);
  }
}

template <class Reducer>
__device__ void reduce_words(Reducer reducer, uint4* destination, const uint4* source,
                             std::uint64_t words) {
  const std::uint64_t step = all_threads();
  std::uint64_t i = first_of_thread();
  for (; i + (kInFlight - 1) * step < words; i += kInFlight * step) {
    uint4 a[kInFlight], b[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) a[k] = destination[i + k * step];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) b[k] = __ldcs(source + i + k * step);
#pragma unroll
    for (int k = 0; k < kInFlight; ++k)
      destination[i + k * step] = combine_all(reducer, a[k], b[k]);
  }
  for (; i < words; i += step)
    destination[i] = combine_all(reducer, destination[i], __ldcs(source + i));
}

// Words of 16 bytes where both ends have them at the same places; what is before the first and
// after the last one by elements.
template <class Reducer>
__device__ void reduce(Reducer reducer, const Parameters& of) {
  constexpr std::uint64_t kWord = sizeof(uint4), kElement = sizeof(typename Reducer::Element);
  const auto to = reinterpret_cast<std::uintptr_t>(of.destination);
  const auto from = reinterpret_cast<std::uintptr_t>(of.source);
  if ((to - from) % kWord != 0 || to % kElement != 0)
    return reduce_elements(reducer, of.destination, of.source, of.bytes);
  const std::uint64_t misaligned = (kWord - to % kWord) % kWord;
  const std::uint64_t head = misaligned < of.bytes ? misaligned : of.bytes;
  const std::uint64_t words = (of.bytes - head) / kWord, tail = head + words * kWord;
  reduce_elements(reducer, of.destination, of.source, head);
  reduce_words(reducer, reinterpret_cast<uint4*>(of.destination + head),
               reinterpret_cast<const uint4*>(of.source + head), words);
  reduce_elements(reducer, of.destination + tail, of.source + tail, of.bytes - tail);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(polypath::kReduceThreads)
    reduce(const __grid_constant__ Parameters parameters) {
  with_reducer({parameters.code, parameters.values},
               [&](auto reducer) { reduce(reducer, parameters); });
}
