#include "collective/program/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <vector>

#include "model/half_floats.h"

namespace polypath::collective {
namespace {

// The values that a type can hold: inputs are whole numbers up to `range`, of floating-point types
// divided by it.
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
void store(ElementType type, std::span<const double> values, std::byte* at) {
  with_type(type, [&](auto element) {
    using Element = decltype(element);
    for (const double value : values) {
      if constexpr (std::is_integral_v<Element>)
        element = static_cast<Element>(static_cast<std::int64_t>(value));
      else if constexpr (std::is_floating_point_v<Element>) element = static_cast<Element>(value);
      else element = Element(static_cast<float>(value));
      std::memcpy(at, &element, sizeof element);
      at += sizeof element;
    }
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
std::uint64_t hashed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// 1, or of even ranks 1/2 and of odd ones 2; so that the products of many stay near 1, 1 of ranks
// beyond.
double power_of_2(int rank, std::uint64_t random) {
  constexpr int kMost = 24;
  if (rank > kMost || (random >> 1) % 2 == 0) return 1;
  return rank % 2 == 0 ? 0.5 : 2;
}

// One rank's input. Values are worked out a block at a time: there are millions of them.
class RankInput {
 public:
  RankInput(const CollectiveRequest& request, int rank)
      : rank_(rank),
        seed_((static_cast<std::uint64_t>(rank) + 1) << 40),
        is_product_(request.reduction.operation == ReduceOperator::product) {
    const Inputs inputs = inputs_of(request.reduction.type);
    is_whole_ = inputs.digits == 0;
    has_sign_ = inputs.has_sign;
    most_ = static_cast<std::uint64_t>(is_whole_ ? inputs.range
                                                 : largest_addend(inputs, request.size()));
    unit_ = is_whole_ ? 1 : 1 / static_cast<double>(inputs.range);  // a power of 2
  }

  [[nodiscard]] double value(std::uint64_t index) const {
    const std::uint64_t random = hashed((seed_ + index) * 0x9e3779b97f4a7c15U);
    const std::int64_t sign = has_sign_ && random % 2 == 1 ? -1 : 1;
    if (is_product_ && rank_ > 0)
      return static_cast<double>(sign) * (is_whole_ ? 1 : power_of_2(rank_, random));
    // A number up to `most` of the upper half: a multiplication instead of a division.
    auto magnitude = static_cast<std::int64_t>((random >> 33) * (most_ + 1) >> 31);
    if (is_product_) magnitude = std::max<std::int64_t>(magnitude, 1);
    return static_cast<double>(sign * magnitude) * unit_;
  }
  void values(std::uint64_t begin, std::span<double> into) const {
    for (double& value_there : into) value_there = value(begin++);
  }

 private:
  int rank_;
  std::uint64_t seed_, most_ = 0;
  double unit_ = 1;
  bool is_product_, is_whole_ = false, has_sign_ = true;
};

constexpr std::size_t kBlock = 1024;  // elements

void reduce_into(ReduceOperator operation, std::span<double> values, std::span<const double> next) {
  const auto with_each = [&](auto combine) {
    std::transform(values.begin(), values.end(), next.begin(), values.begin(), combine);
  };
  switch (operation) {
    case ReduceOperator::sum:
    case ReduceOperator::average: return with_each([](double a, double b) { return a + b; });
    case ReduceOperator::product: return with_each([](double a, double b) { return a * b; });
    case ReduceOperator::minimum:
      return with_each([](double a, double b) { return std::min(a, b); });
    case ReduceOperator::maximum:
      return with_each([](double a, double b) { return std::max(a, b); });
  }
}

// The expected output of a rank.
class RankOutput {
 public:
  RankOutput(const CollectiveRequest& request, int rank) : request_(request) {
    for (int each = 0; each < request.size(); ++each) inputs_.emplace_back(request, each);
    const std::uint64_t own = request.elements * static_cast<std::uint64_t>(rank);
    reduces_ = request.collective == Collective::all_reduce ||
               request.collective == Collective::reduce ||
               request.collective == Collective::reduce_scatter;
    if (request.collective == Collective::reduce_scatter) first_ = own;
    if (reduces_) return;
    for (int sender = 0; sender < request.size(); ++sender) add_piece(sender, rank, own);
  }

  void values(std::uint64_t begin, std::span<double> into) const {
    if (reduces_) return reduced(first_ + begin, into);
    const std::uint64_t end = begin + into.size();
    for (const Piece& piece : pieces_) {
      const std::uint64_t from = std::max(begin, piece.begin), to = std::min(end, piece.end);
      if (from < to)
        inputs_[piece.sender].values(piece.source + from - piece.begin,
                                     into.subspan(from - begin, to - from));
    }
  }

 private:
  /// Elements of the output that one rank has given as they are.
  struct Piece {
    std::uint64_t begin, end;
    std::size_t sender;
    std::uint64_t source;  ///< the first one's number in its input
  };

  void add_piece(int sender, int rank, std::uint64_t own) {
    const auto number = static_cast<std::size_t>(sender);
    const std::uint64_t begin = request_.elements * number, size = request_.element().value;
    switch (request_.collective) {
      case Collective::all_gather:
        return pieces_.push_back({begin, begin + request_.elements, number, 0});
      case Collective::all_to_all:
        return pieces_.push_back({begin, begin + request_.elements, number, own});
      case Collective::all_to_all_v: {
        const auto received = block_received(request_, sender, rank);
        return pieces_.push_back({received.offset.value / size, received.end().value / size, number,
                                  block_sent(request_, sender, rank).offset.value / size});
      }
      default:
        if (sender == request_.root) pieces_.push_back({0, request_.elements, number, 0});
    }
  }

  void reduced(std::uint64_t begin, std::span<double> into) const {
    std::array<double, kBlock> next{};
    const std::span<double> of_next(next.data(), into.size());
    inputs_.front().values(begin, into);
    for (std::size_t rank = 1; rank < inputs_.size(); ++rank) {
      inputs_[rank].values(begin, of_next);
      reduce_into(request_.reduction.operation, into, of_next);
    }
    if (request_.reduction.operation != ReduceOperator::average) return;
    for (double& value : into) value /= request_.size();
  }

  const CollectiveRequest& request_;
  std::vector<RankInput> inputs_;
  std::vector<Piece> pieces_;
  std::uint64_t first_ = 0;  ///< of what is reduced
  bool reduces_ = false;
};

// The first of so many elements that differ.
std::string difference(const CollectiveRequest& request, std::span<const std::byte> found,
                       const std::byte* wanted, std::uint64_t begin, int rank) {
  const std::uint64_t size = request.element().value;
  const auto at = static_cast<std::uint64_t>(
      std::mismatch(found.begin(), found.end(), wanted).first - found.begin());
  const std::uint64_t offset = at / size * size;
  return fmt::format("rank {}, element {}: {} instead of {}", rank, begin + at / size,
                     load(request.reduction.type, found.data() + offset),
                     load(request.reduction.type, wanted + offset));
}

std::string first_wrong(const CollectiveRequest& request, int rank, const std::byte* output) {
  const std::uint64_t size = request.element().value;
  const std::uint64_t elements = output_bytes(request, rank).value / size;
  const RankOutput expected(request, rank);
  std::array<double, kBlock> values{};
  std::array<std::byte, kBlock * sizeof(double)> wanted{};
  for (std::uint64_t begin = 0; begin < elements; begin += kBlock) {
    const std::span<double> block(values.data(), std::min<std::uint64_t>(kBlock, elements - begin));
    expected.values(begin, block);
    store(request.reduction.type, block, wanted.data());
    const std::span<const std::byte> found(output + begin * size, block.size() * size);
    if (std::memcmp(found.data(), wanted.data(), found.size()) != 0)
      return difference(request, found, wanted.data(), begin, rank);
  }
  return {};
}

}  // namespace

double input_value(const CollectiveRequest& request, int rank, std::uint64_t index) {
  return RankInput(request, rank).value(index);
}

void fill_input(const CollectiveRequest& request, int rank, std::byte* memory) {
  if (request.in_place && request.collective == Collective::all_gather)
    memory += (request.part() * static_cast<std::uint64_t>(rank)).value;
  const std::uint64_t element = request.element().value;
  const std::uint64_t elements = input_bytes(request, rank).value / element;
  const RankInput input(request, rank);
  std::array<double, kBlock> values{};
  for (std::uint64_t begin = 0; begin < elements; begin += kBlock) {
    const std::span<double> block(values.data(), std::min<std::uint64_t>(kBlock, elements - begin));
    input.values(begin, block);
    store(request.reduction.type, block, memory + begin * element);
  }
}

// Contents that are the same at all ranks are computed once.
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

}  // namespace polypath::collective
