// What compares outputs with what they should be (collective/reference.h) has to notice whatever is
// wrong: a checker that does not makes every other test of collectives worthless.

#include "collective/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "collective/support/ranks.h"
#include "machine/load_machine.h"
#include "model/half_floats.h"

namespace polypath::test::reference_test {
namespace {

constexpr int kRanks = 3, kRoot = 1;
constexpr std::uint64_t kElements = 7;

/// The outputs of all ranks, right at first: for collectives that move what they are given.
class Outputs {
 public:
  explicit Outputs(const CollectiveRequest& request) : request_(request) {
    for (int rank = 0; rank < request.size(); ++rank) {
      const std::size_t bytes = output_bytes(request, rank).value;
      outputs_.emplace_back(bytes);
      if (bytes > 0) fill(rank);
    }
  }

  [[nodiscard]] std::string wrong() const {
    std::vector<const std::byte*> all;
    for (const auto& output : outputs_) all.push_back(output.data());
    return first_difference(request_, all);
  }
  std::vector<std::byte>& of(int rank) { return outputs_[static_cast<std::size_t>(rank)]; }
  template <class Value>
  void put(int rank, std::uint64_t index, Value value) {
    std::memcpy(of(rank).data() + index * sizeof value, &value, sizeof value);
  }

 private:
  // The inputs' own elements where the operation says that they go, by its definition.
  void fill(int rank) {
    const std::uint64_t element = request_.element().value;
    const auto take = [&](std::uint64_t to, int from, std::uint64_t index) {
      std::vector<std::byte> input(input_bytes(request_, from).value);
      fill_input(request_, from, input.data());
      std::memcpy(of(rank).data() + to * element, input.data() + index * element, element);
    };
    for (std::uint64_t i = 0; i < request_.elements; ++i) switch (request_.collective) {
        case Collective::broadcast: take(i, request_.root, i); break;
        case Collective::all_gather:
          for (int from = 0; from < kRanks; ++from) take(block(from) + i, from, i);
          break;
        case Collective::all_to_all:
          for (int from = 0; from < kRanks; ++from) take(block(from) + i, from, block(rank) + i);
          break;
        default: FAIL() << "this one computes";
      }
  }
  [[nodiscard]] std::uint64_t block(int rank) const {
    return request_.elements * static_cast<std::uint64_t>(rank);
  }

  CollectiveRequest request_;
  std::vector<std::vector<std::byte>> outputs_;
};

CollectiveRequest request_of(Collective collective, ElementType type = ElementType::float32) {
  return {.collective = collective,
          .ranks = first_gpus(load_machine("cedar"), kRanks),
          .elements = kElements,
          .reduction = {.operation = ReduceOperator::sum, .type = type},
          .root = kRoot};
}

constexpr Collective kMoving[] = {Collective::broadcast, Collective::all_gather,
                                  Collective::all_to_all};

// Flipped in its sign, which no rounding explains; of those without one in its highest bit.
TEST(Reference, NoticesEveryElementOfEveryRankInEveryType) {
  for (const Collective collective : kMoving)
    for (const ElementType type : all_element_types()) {
      SCOPED_TRACE(testing::Message() << name_of(collective) << " " << name_of(type));
      const CollectiveRequest request = request_of(collective, type);
      Outputs outputs(request);
      ASSERT_EQ(outputs.wrong(), "");
      const std::uint64_t element = request.element().value;
      for (int rank = 0; rank < kRanks; ++rank)
        for (std::uint64_t end = element; end <= outputs.of(rank).size(); end += element) {
          std::byte& highest = outputs.of(rank)[end - 1];
          highest ^= std::byte{0x80};
          EXPECT_NE(outputs.wrong(), "") << "rank " << rank << ", up to byte " << end;
          highest ^= std::byte{0x80};
        }
    }
}

// What is no number compares with nothing, and what is infinite is off by no number.
template <class Value>
void expect_noticed(ElementType type, Value value) {
  for (const Collective collective : kMoving)
    for (int rank = 0; rank < kRanks; ++rank) {
      SCOPED_TRACE(testing::Message()
                   << name_of(collective) << " " << name_of(type) << " at rank " << rank);
      Outputs outputs(request_of(collective, type));
      outputs.put(rank, kElements - 1, value);
      EXPECT_NE(outputs.wrong(), "");
    }
}

TEST(Reference, TakesNoNumberForWhatIsNone) {
  expect_noticed(ElementType::float32, std::numeric_limits<float>::quiet_NaN());
  expect_noticed(ElementType::float32, -std::numeric_limits<float>::quiet_NaN());
  expect_noticed(ElementType::float64, std::numeric_limits<double>::quiet_NaN());
  expect_noticed(ElementType::float16, Float16(std::numeric_limits<float>::quiet_NaN()));
  expect_noticed(ElementType::bfloat16, BFloat16(std::numeric_limits<float>::quiet_NaN()));
}

TEST(Reference, TakesNoNumberForWhatIsInfinite) {
  for (const float infinite :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    expect_noticed(ElementType::float32, infinite);
    expect_noticed(ElementType::float64, static_cast<double>(infinite));
    expect_noticed(ElementType::float16, Float16(infinite));
    expect_noticed(ElementType::bfloat16, BFloat16(infinite));
  }
}

/// An all-reduce's outputs: the exact results, rounded to float32.
class Reduced : public testing::TestWithParam<ReduceOperator> {
 protected:
  Reduced() {
    request_.reduction.operation = GetParam();
    for (int rank = 0; rank < kRanks; ++rank) outputs_.emplace_back(kElements);
    for (std::uint64_t i = 0; i < kElements; ++i)
      for (auto& output : outputs_) output[i] = static_cast<float>(exact(i));
  }

  [[nodiscard]] double exact(std::uint64_t index) const {
    double value = input_value(request_, 0, index);
    for (int rank = 1; rank < kRanks; ++rank) {
      const double next = input_value(request_, rank, index);
      switch (GetParam()) {
        case ReduceOperator::sum:
        case ReduceOperator::average: value += next; break;
        case ReduceOperator::product: value *= next; break;
        case ReduceOperator::minimum: value = std::min(value, next); break;
        case ReduceOperator::maximum: value = std::max(value, next); break;
      }
    }
    return GetParam() == ReduceOperator::average ? value / kRanks : value;
  }
  [[nodiscard]] std::string wrong() const {
    std::vector<const std::byte*> all;
    for (const auto& output : outputs_)
      all.push_back(reinterpret_cast<const std::byte*>(output.data()));
    return first_difference(request_, all);
  }

  CollectiveRequest request_ = request_of(Collective::all_reduce);
  std::vector<std::vector<float>> outputs_;
};

INSTANTIATE_TEST_SUITE_P(Reference, Reduced, testing::ValuesIn(all_reduce_operators()),
                         [](const auto& info) { return name_of(info.param); });

TEST_P(Reduced, ResultsAreTakenForRight) { EXPECT_EQ(wrong(), ""); }

// Off by 2^-18 of the sum of magnitudes: sixty times what rounding explains.
TEST_P(Reduced, ResultsThatAreOffAtAllRanksAreNoticed) {
  for (std::uint64_t i = 0; i < kElements; ++i) {
    const float right = outputs_[0][i];
    for (auto& output : outputs_) output[i] = right + kRanks * 0x1p-18F;
    EXPECT_NE(wrong(), "") << "element " << i;
    for (auto& output : outputs_) output[i] = right;
  }
}

TEST_P(Reduced, ResultsThatAreNoNumbersAtAnyRankAreNoticed) {
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    const float right = outputs_[rank][kElements - 1];
    outputs_[rank][kElements - 1] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_NE(wrong(), "") << "rank " << rank;
    outputs_[rank][kElements - 1] = right;
  }
  for (auto& output : outputs_) output[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(wrong(), "") << "all ranks";
}

// Within what rounding explains, but in other bits.
TEST_P(Reduced, ResultsOfOtherBitsAtOneRankAreNoticed) {
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    float& last = outputs_[rank][kElements - 1];
    const float right = last;
    last = std::nextafter(last, 2.0F);
    EXPECT_NE(wrong(), "") << "rank " << rank;
    last = right;
  }
}

}  // namespace
}  // namespace polypath::test::reference_test
