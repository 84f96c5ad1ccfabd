#include "collective/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "model/half_floats.h"

namespace polypath {
namespace {

// What a type can hold: inputs are whole numbers up to `range`, of floating-point types divided by
// it.
struct Inputs {
  std::int64_t range;
  int digits;  // p; 0 of integers
  bool has_sign = true;
};

Inputs inputs_of(ElementType type) {
  switch (type) {
    case ElementType::float16: return {1 << 10, 11};
    case ElementType::bfloat16: return {1 << 7, 8};
    case ElementType::float32: return {1 << 20, 24};
    case ElementType::float64: return {1 << 20, 53};
    case ElementType::int8: return {15, 0};
    case ElementType::int16: return {1 << 11, 0};
    case ElementType::int32:
    case ElementType::int64: return {1 << 20, 0};
    case ElementType::uint16: return {1 << 12, 0, false};
    case ElementType::uint32:
    case ElementType::uint64: return {1 << 20, 0, false};
    case ElementType::boolean: return {1, 0, false};
    default: return {31, 0, false};  // of 8 bits
  }
}

// The largest input of a floating-point type, times its range, so that no sum is rounded.
std::int64_t largest_addend(const Inputs& inputs, int ranks) {
  return std::clamp<std::int64_t>((std::int64_t{1} << inputs.digits) / ranks, 1, inputs.range);
}

// Calls `use` with a value of the element's type.
template <class Use>
void with_type(ElementType type, Use use) {
  // NOLINTBEGIN(bugprone-branch-clone): the types differ
  switch (type) {
    case ElementType::float16: return use(Float16());
    case ElementType::bfloat16: return use(BFloat16());
    case ElementType::float32: return use(float());
    case ElementType::float64: return use(double());
    case ElementType::int8: return use(std::int8_t());
    case ElementType::int16: return use(std::int16_t());
    case ElementType::int32: return use(std::int32_t());
    case ElementType::int64: return use(std::int64_t());
    case ElementType::uint16: return use(std::uint16_t());
    case ElementType::uint32: return use(std::uint32_t());
    case ElementType::uint64: return use(std::uint64_t());
    default: return use(std::uint8_t());  // or moved as they are
  }
  // NOLINTEND(bugprone-branch-clone)
}

// Integers wrap around.
void store(ElementType type, std::byte* at, double value) {
  with_type(type, [&](auto element) {
    if constexpr (std::is_integral_v<decltype(element)>)
      element = static_cast<decltype(element)>(static_cast<std::int64_t>(value));
    else if constexpr (std::is_floating_point_v<decltype(element)>)
      element = static_cast<decltype(element)>(value);
    else element = decltype(element)(static_cast<float>(value));
    std::memcpy(at, &element, sizeof element);
  });
}

double load(ElementType type, const std::byte* at) {
  double value = 0;
  with_type(type, [&](auto element) {
    std::memcpy(&element, at, sizeof element);
    if constexpr (std::is_arithmetic_v<decltype(element)>) value = static_cast<double>(element);
    else value = static_cast<float>(element);
  });
  return value;
}

// splitmix64's mixing of one number (Steele, Lea, Flood 2014).
std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

double reduced(const CollectiveRequest& request, std::uint64_t index) {
  double value = input_value(request, 0, index);
  for (int rank = 1; rank < request.size(); ++rank) {
    const double next = input_value(request, rank, index);
    switch (request.reduction.operation) {
      case ReduceOperator::sum:
      case ReduceOperator::average: value += next; break;
      case ReduceOperator::product: value *= next; break;
      case ReduceOperator::minimum: value = std::min(value, next); break;
      case ReduceOperator::maximum: value = std::max(value, next); break;
    }
  }
  const bool averages = request.reduction.operation == ReduceOperator::average;
  return averages ? value / request.size() : value;
}

// Element `index` of what arrives at a rank.
double arrived(const CollectiveRequest& request, int rank, std::uint64_t index) {
  const Bytes offset = request.element() * index;
  int sender = 0;
  while (block_received(request, sender, rank).end() <= offset) ++sender;
  const Bytes within = offset - block_received(request, sender, rank).offset;
  const Bytes sent = block_sent(request, sender, rank).offset + within;
  return input_value(request, sender, sent.value / request.element().value);
}

double expected(const CollectiveRequest& request, int rank, std::uint64_t index) {
  const std::uint64_t own = request.elements * static_cast<std::uint64_t>(rank);
  const int sender = static_cast<int>(index / request.elements);
  const std::uint64_t within = index % request.elements;
  switch (request.collective) {
    case Collective::all_reduce:
    case Collective::reduce: return reduced(request, index);
    case Collective::reduce_scatter: return reduced(request, own + index);
    case Collective::all_gather: return input_value(request, sender, within);
    case Collective::all_to_all: return input_value(request, sender, own + within);
    case Collective::all_to_all_v: return arrived(request, rank, index);
    case Collective::broadcast: break;
  }
  return input_value(request, request.root, index);
}

std::string first_wrong(const CollectiveRequest& request, int rank, const std::byte* output) {
  const std::uint64_t size = request.element().value;
  const std::uint64_t elements = output_bytes(request, rank).value / size;
  const ElementType type = request.reduction.type;
  std::array<std::byte, sizeof(std::uint64_t)> wanted{};
  for (std::uint64_t index = 0; index < elements; ++index) {
    const std::byte* const found = output + index * size;
    store(type, wanted.data(), expected(request, rank, index));
    if (std::memcmp(found, wanted.data(), size) != 0)
      return fmt::format("rank {}, element {}: {} instead of {}", rank, index, load(type, found),
                         load(type, wanted.data()));
  }
  return {};
}

// 1, or of even ranks 1/2 and of odd ones 2; so that the products of many stay near 1, 1 of ranks
// beyond.
double power_of_2(int rank, std::uint64_t random) {
  constexpr int kMost = 24;
  if (rank > kMost || (random >> 1) % 2 == 0) return 1;
  return rank % 2 == 0 ? 0.5 : 2;
}

}  // namespace

double input_value(const CollectiveRequest& request, int rank, std::uint64_t index) {
  const Inputs inputs = inputs_of(request.reduction.type);
  const std::uint64_t seed = (static_cast<std::uint64_t>(rank) + 1) << 40;
  const std::uint64_t random = mixed((seed + index) * 0x9e3779b97f4a7c15U);
  const bool is_whole = inputs.digits == 0;
  const double sign = inputs.has_sign && random % 2 == 1 ? -1 : 1;
  const bool factor = request.reduction.operation == ReduceOperator::product;
  if (factor && rank > 0) return sign * (is_whole ? 1 : power_of_2(rank, random));
  const std::int64_t most = is_whole ? inputs.range : largest_addend(inputs, request.size());
  // A number up to `most` of the upper half: a multiplication instead of a division, in the loop
  // over all elements.
  auto magnitude = (random >> 33) * (static_cast<std::uint64_t>(most) + 1) >> 31;
  if (factor) magnitude = std::max<std::uint64_t>(magnitude, 1);
  if (magnitude == 0) return 0;
  const double value = sign * static_cast<double>(magnitude);
  return is_whole ? value : value / static_cast<double>(inputs.range);
}

void fill_input(const CollectiveRequest& request, int rank, std::byte* memory) {
  if (request.in_place && request.collective == Collective::all_gather)
    memory += (request.part() * static_cast<std::uint64_t>(rank)).value;
  const std::uint64_t element = request.element().value;
  const std::uint64_t elements = input_bytes(request, rank).value / element;
  for (std::uint64_t index = 0; index < elements; ++index)
    store(request.reduction.type, memory + index * element, input_value(request, rank, index));
}

// What all have alike is worked out once.
std::string first_difference(const CollectiveRequest& request,
                             std::span<const std::byte* const> outputs) {
  const bool alike =
      request.collective == Collective::all_reduce || request.collective == Collective::broadcast;
  for (int rank = 0; rank < request.size(); ++rank) {
    const std::byte* const output = outputs[static_cast<std::size_t>(rank)];
    if (!alike || rank == 0) {
      std::string wrong = first_wrong(request, rank, output);
      if (!wrong.empty()) return wrong;
    } else if (std::memcmp(output, outputs[0], request.part().value) != 0) {
      return fmt::format("rank {} has other bits than rank 0", rank);
    }
  }
  return {};
}

}  // namespace polypath
