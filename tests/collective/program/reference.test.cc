// What compares outputs with what they should be (collective/program/reference.h) has to notice
// every wrong bit: a checker that does not makes every other test of collectives worthless.

#include "collective/program/reference.h"

#include <gmock/gmock.h>

#include <cstring>
#include <limits>

#include "collective/support/ranks.h"
#include "machine/load_machine.h"
#include "model/half_floats.h"
#include "support/layers.h"

namespace polypath::test::reference_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Contents = std::vector<std::byte>;

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

std::vector<PlaceId> places(int count) {
  std::vector<PlaceId> all;
  for (int i = 0; i < count; ++i) all.push_back({i});
  return all;
}

/// What all ranks of an all-reduce have: the inputs, reduced one after another.
std::vector<Contents> outputs_of(const CollectiveRequest& request, bool backwards = false) {
  const int ranks = request.size();
  const auto number = [&](int step) { return backwards ? ranks - 1 - step : step; };
  Contents sum(request.part().value), next(request.part().value);
  fill_input(request, number(0), sum.data());
  Reduction step = request.reduction;
  step.values = ranks;
  for (int rank = 1; rank < ranks; ++rank) {
    fill_input(request, number(rank), next.data());
    step.into = rank;
    reduce_on_host(step, sum.data(), next.data(), request.part());
  }
  return {static_cast<std::size_t>(ranks), sum};
}

std::string difference(const CollectiveRequest& request, const std::vector<Contents>& outputs) {
  std::vector<const std::byte*> addresses;
  for (const Contents& each : outputs) addresses.push_back(each.data());
  return first_difference(request, addresses);
}

template <class Check>
void for_reductions(Check check) {
  for (const int ranks : {2, 3, 8, 16, 33})
    for (const ElementType type : all_element_types())
      for (const ReduceOperator operation : all_reduce_operators()) {
        if (!can_reduce(operation, type)) continue;
        SCOPED_TRACE(testing::Message()
                     << name_of(type) << " " << name_of(operation) << " of " << ranks << " ranks");
        check(CollectiveRequest{.collective = Collective::all_reduce,
                                .ranks = places(ranks),
                                .elements = 300,
                                .reduction = {operation, type}});
      }
}

// 16 ranks have sums of up to 496 in uint8, which wrap around.
TEST(Reference, TakesWhatIsRightForRightInAnyOrder) {
  for_reductions([](const CollectiveRequest& request) {
    EXPECT_THAT(difference(request, outputs_of(request)), IsEmpty());
    EXPECT_THAT(difference(request, outputs_of(request, true)), IsEmpty());
  });
}

TEST(Reference, SeesEveryBitOfEveryRank) {
  Random random(3);
  for_reductions([&](const CollectiveRequest& request) {
    const std::vector<Contents> right = outputs_of(request);
    for (int number = 0; number < 20; ++number) {
      std::vector<Contents> wrong = right;
      Contents& of_rank = wrong[random.index(wrong.size())];
      of_rank[random.index(of_rank.size())] ^= std::byte{1} << random.between(0, 7);

      EXPECT_THAT(difference(request, wrong), Not(IsEmpty()));
    }
  });
}

TEST(Reference, SeesWhatIsWrongAtAllRanksAlike) {
  for_reductions([](const CollectiveRequest& request) {
    std::vector<Contents> outputs = outputs_of(request);
    for (const std::size_t byte : {std::size_t{0}, outputs[0].size() - 1}) {
      for (Contents& each : outputs) each[byte] ^= std::byte{1};
      EXPECT_THAT(difference(request, outputs), Not(IsEmpty())) << "byte " << byte;
      for (Contents& each : outputs) each[byte] ^= std::byte{1};
    }
  });
}

TEST(Reference, SeesWhatIsNoNumberAtAnyRank) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  for_reductions([&](const CollectiveRequest& request) {
    if (request.reduction.type != ElementType::float32) return;
    for (std::size_t rank = 0; rank < request.ranks.size(); ++rank) {
      std::vector<Contents> outputs = outputs_of(request);
      std::memcpy(outputs[rank].data() + 4, &none, sizeof none);
      EXPECT_THAT(difference(request, outputs), Not(IsEmpty())) << "rank " << rank;
    }
  });
}

TEST(Reference, SaysWhichElementIsWrong) {
  const CollectiveRequest request{
      .collective = Collective::all_reduce, .ranks = places(2), .elements = 10};
  std::vector<Contents> outputs = outputs_of(request);
  const float none = std::numeric_limits<float>::quiet_NaN();
  for (Contents& each : outputs) std::memcpy(each.data() + 4, &none, sizeof none);

  EXPECT_THAT(difference(request, outputs), HasSubstr("rank 0, element 1: nan instead of"));
}

TEST(Reference, GivesRanksDifferentInputs) {
  for_reductions([](const CollectiveRequest& request) {
    Contents first(request.part().value), second(request.part().value);
    fill_input(request, 0, first.data());
    fill_input(request, 1, second.data());

    EXPECT_NE(first, second);
  });
}

}  // namespace
}  // namespace polypath::test::reference_test
