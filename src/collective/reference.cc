#include "collective/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace polypath {
namespace {

bool is_floating(ElementType type) {
  return type == ElementType::float32 || type == ElementType::float64;
}

template <class Element>
void store(std::byte* at, double value) {
  const auto element = static_cast<Element>(value);
  std::memcpy(at, &element, sizeof element);
}

template <class Element>
double load(const std::byte* at) {
  Element element;
  std::memcpy(&element, at, sizeof element);
  return static_cast<double>(element);
}

void store(ElementType type, std::byte* at, double value) {
  switch (type) {
    case ElementType::float32: return store<float>(at, value);
    case ElementType::float64: return store<double>(at, value);
    case ElementType::int32: return store<std::int32_t>(at, value);
    case ElementType::int64: return store<std::int64_t>(at, value);
  }
}

double load(ElementType type, const std::byte* at) {
  switch (type) {
    case ElementType::float32: return load<float>(at);
    case ElementType::float64: return load<double>(at);
    case ElementType::int32: return load<std::int32_t>(at);
    case ElementType::int64: return load<std::int64_t>(at);
  }
  return 0;
}

double rounding_unit(ElementType type) {
  switch (type) {
    case ElementType::float32: return std::numeric_limits<float>::epsilon() / 2;
    case ElementType::float64: return std::numeric_limits<double>::epsilon() / 2;
    case ElementType::int32:
    case ElementType::int64: break;
  }
  return 0;
}

// splitmix64's mixing of one number (Steele, Lea, Flood 2014).
std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

struct Expected {
  double value = 0;
  double tolerance = 0;
};

Expected reduced(const CollectiveRequest& request, std::uint64_t index) {
  double value = input_value(request, 0, index), magnitude = std::abs(value);
  for (int rank = 1; rank < request.size(); ++rank) {
    const double next = input_value(request, rank, index);
    magnitude += std::abs(next);
    switch (request.reduction.operation) {
      case ReduceOperator::sum: value += next; break;
      case ReduceOperator::minimum: value = std::min(value, next); break;
      case ReduceOperator::maximum: value = std::max(value, next); break;
    }
  }
  const bool rounds = request.reduction.operation == ReduceOperator::sum;
  return {value, rounds ? request.size() * rounding_unit(request.reduction.type) * magnitude : 0};
}

Expected expected(const CollectiveRequest& request, int rank, std::uint64_t index) {
  const std::uint64_t own = request.elements * static_cast<std::uint64_t>(rank);
  const int sender = static_cast<int>(index / request.elements);
  const std::uint64_t within = index % request.elements;
  switch (request.collective) {
    case Collective::all_reduce:
    case Collective::reduce: return reduced(request, index);
    case Collective::reduce_scatter: return reduced(request, own + index);
    case Collective::all_gather: return {input_value(request, sender, within)};
    case Collective::all_to_all: return {input_value(request, sender, own + within)};
    case Collective::broadcast: break;
  }
  return {input_value(request, request.root, index)};
}

std::string first_wrong(const CollectiveRequest& request, int rank, const std::byte* output) {
  const std::uint64_t elements = output_bytes(request, rank).value / request.element().value;
  for (std::uint64_t index = 0; index < elements; ++index) {
    const auto [value, tolerance] = expected(request, rank, index);
    const double found = load(request.reduction.type, output + index * request.element().value);
    if (!(std::abs(found - value) <= tolerance))
      return fmt::format("rank {}, element {}: {} instead of {}", rank, index, found, value);
  }
  return {};
}

}  // namespace

double input_value(const CollectiveRequest& request, int rank, std::uint64_t index) {
  constexpr std::int64_t kRange = 1 << 20;
  const std::uint64_t seed = (static_cast<std::uint64_t>(rank) + 1) << 40;
  const auto value =
      static_cast<std::int64_t>(mixed((seed + index) * 0x9e3779b97f4a7c15U) % (2 * kRange + 1)) -
      kRange;
  const auto real = static_cast<double>(value);
  return is_floating(request.reduction.type) ? real / kRange : real;
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
