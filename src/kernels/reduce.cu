// result = ((x0 ∘ x1) ∘ x2) ∘ …: see reduce.h.

#include "kernels/element.cuh"

// NOLINTBEGIN(google-build-using-namespace): kernels have C's names
using namespace polypath::kernels;
using namespace polypath::kernels::gpu;
// NOLINTEND(google-build-using-namespace)

namespace {

constexpr int kInFlight = 4;  // words of a thread

struct Parameters {
  std::uint64_t code, bytes, operands, values;
  std::uint64_t values_of[kMostOperands];
  char* result;
  const char* memory[kMostOperands];
};

__device__ std::uint64_t first_of_thread() {
  return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ std::uint64_t all_threads() { return std::uint64_t{gridDim.x} * blockDim.x; }

// combine(reducer, operand) for all but the first operand, in their order.
template <class Reducer, class Combine>
__device__ void for_operands(const Parameters& of, Combine combine) {
  std::uint64_t into = of.values_of[0];
  for (std::uint64_t next = 1; next < of.operands; ++next) {
    combine(Reducer{averaged_values(of.values, into, of.values_of[next])}, next);
    into += of.values_of[next];
  }
}

// At any address.
template <class Reducer>
__noinline__ __device__ void reduce_elements(const Parameters& of, std::uint64_t begin,
                                             std::uint64_t end) {
  using Element = typename Reducer::Element;
  const std::uint64_t step = all_threads() * sizeof(Element);
  for (std::uint64_t at = begin + first_of_thread() * sizeof(Element); at < end; at += step) {
    Element sum, next;
    memcpy(&sum, of.memory[0] + at, sizeof sum);
    for_operands<Reducer>(of, [&](const Reducer& reducer, std::uint64_t operand) {
      memcpy(&next, of.memory[operand] + at, sizeof next);
      sum = reducer.combine(sum, next);
    });
    memcpy(of.result + at, &sum, sizeof sum);
  }
}

// Words of 16 bytes that a thread has at a time; those beyond the end are none.
struct Words {
  std::uint64_t at, end, step;  // in bytes

  template <class Do>
  __device__ void for_each(Do what) const {
#pragma unroll
    for (int k = 0; k < kInFlight; ++k)
      if (at + k * step < end) what(k, at + k * step);
  }
  __device__ void load(const char* memory, uint4 (&words)[kInFlight]) const {
    for_each([&](int k, std::uint64_t offset) {
      words[k] = __ldcs(reinterpret_cast<const uint4*>(memory + offset));
    });
  }
};

// While one operand is added the next one is on its way.
template <class Reducer>
__device__ void reduce_words(const Parameters& of, const Words& words) {
  uint4 sum[kInFlight] = {}, next[kInFlight] = {}, ahead[kInFlight] = {};
  words.load(of.memory[0], sum);
  words.load(of.memory[1], next);
  for_operands<Reducer>(of, [&](const Reducer& reducer, std::uint64_t operand) {
    if (operand + 1 < of.operands) words.load(of.memory[operand + 1], ahead);
    words.for_each([&](int k, std::uint64_t) {
      sum[k] = combine_all(reducer, sum[k], next[k]);
      next[k] = ahead[k];
    });
  });
  words.for_each(
      [&](int k, std::uint64_t offset) { *reinterpret_cast<uint4*>(of.result + offset) = sum[k]; });
}

__device__ bool lies_alike(const Parameters& of, std::uint64_t alignment) {
  const auto to = reinterpret_cast<std::uintptr_t>(of.result);
  bool alike = true;
  for (std::uint64_t operand = 0; operand < of.operands; ++operand)
    alike &= (to - reinterpret_cast<std::uintptr_t>(of.memory[operand])) % alignment == 0;
  return alike;
}

// Words of 16 bytes where all memory has them at the same places; the bytes before the first and
// after the last one by elements.
template <class Reducer>
__device__ void reduce(const Parameters& of) {
  constexpr std::uint64_t kWord = sizeof(uint4), kElement = sizeof(typename Reducer::Element);
  const auto to = reinterpret_cast<std::uintptr_t>(of.result);
  if (!lies_alike(of, kWord) || to % kElement != 0)
    return reduce_elements<Reducer>(of, 0, of.bytes);
  const std::uint64_t misaligned = (kWord - to % kWord) % kWord;
  const std::uint64_t head = misaligned < of.bytes ? misaligned : of.bytes;
  const std::uint64_t tail = head + (of.bytes - head) / kWord * kWord;
  const std::uint64_t step = all_threads() * kWord;
  reduce_elements<Reducer>(of, 0, head);
  for (std::uint64_t at = head + first_of_thread() * kWord; at < tail; at += kInFlight * step)
    reduce_words<Reducer>(of, {at, tail, step});
  reduce_elements<Reducer>(of, tail, of.bytes);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kReduceThreads)
    reduce(const __grid_constant__ Parameters parameters) {
  with_reducer({parameters.code, 0}, [&](auto reducer) { reduce<decltype(reducer)>(parameters); });
}
