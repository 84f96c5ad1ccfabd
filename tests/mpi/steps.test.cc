// Calls of MPI as calls of ours, with the copies that one rank makes before and after them.

#include "mpi/steps.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "driver/sim/sim_driver.h"
#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::mpi_steps_test {
namespace {

using mpi::Call;
using mpi::Count;
using mpi::Handle;
using mpi::Library;
using mpi::Operation;
using mpi::Scratch;
using mpi::Seat;
using mpi::Side;
using mpi::Steps;
using mpi::steps_of;

// An MPI with four types, of which it says what MPI does.
constexpr Handle kByte = 1, kFloat = 2, kComplex = 3, kStrided = 4;
constexpr Handle kSum = 11, kMaximum = 12, kOther = 13;

int size_of(Handle type) { return type == kByte ? 1 : type == kComplex ? 8 : 4; }

mpi::Result type_size(Handle type, int* size) {
  *size = size_of(type);
  return mpi::kSuccess;
}
mpi::Result type_extent(Handle type, Count* lower, Count* extent) {
  *lower = 0;
  *extent = type == kStrided ? 12 : size_of(type);
  return mpi::kSuccess;
}
mpi::Result type_name(Handle type, char* name, int* length) {
  constexpr std::array kNames = {"MPI_BYTE", "MPI_FLOAT", "MPI_C_FLOAT_COMPLEX", "strided"};
  std::strcpy(name, kNames[type - 1]);
  *length = static_cast<int>(std::strlen(name));
  return mpi::kSuccess;
}
mpi::Result type_envelope(Handle type, int*, int*, int*, int* combiner) {
  *combiner = type == kStrided ? 7 : 0;
  return mpi::kSuccess;
}

Library library() {
  Library made{.byte = kByte, .sum = kSum, .maximum = kMaximum, .in_place = nullptr};
  made.in_place = reinterpret_cast<void*>(1);
  made.real.Type_size = &type_size;
  made.real.Type_get_extent = &type_extent;
  made.real.Type_get_true_extent = &type_extent;
  made.real.Type_get_name = &type_name;
  made.real.Type_get_envelope = &type_envelope;
  return made;
}

class StepsOfACall : public testing::Test {
 protected:
  Steps steps(const Call& call, int rank, const std::vector<Count>& said = {}) {
    return steps_of(library_, call, Seat{rank, 3}, scratch_,
                    [said](const std::vector<Count>& mine) { return said.empty() ? mine : said; });
  }
  static Side side(std::uintptr_t at, Count count, int parts = 1, Handle type = kFloat) {
    return {.memory = reinterpret_cast<void*>(at), .count = count, .type = type, .parts = parts};
  }
  Side in_place() const { return {.memory = library_.in_place}; }

  Library library_ = library();
  sim::SimDriver driver_{load_machine("beluga")};
  Scratch scratch_{driver_, driver_.machine().find_place("gpu0")};
};

constexpr std::uintptr_t kGiven = 0x10000, kTaken = 0x20000;
constexpr std::uint64_t kMany = 100'000;  // elements, above those of few bytes

TEST_F(StepsOfACall, AreOneReductionOfItsType) {
  const Steps made = steps({.operation = Operation::all_reduce,
                            .send = side(kGiven, 10),
                            .receive = side(kTaken, 10),
                            .reduction = kMaximum},
                           1);

  ASSERT_EQ(made.calls.size(), 1u);
  EXPECT_EQ(made.calls[0].collective, Collective::all_reduce);
  EXPECT_EQ(made.calls[0].reduction.type, ElementType::float32);
  EXPECT_EQ(made.calls[0].reduction.operation, ReduceOperator::maximum);
  EXPECT_EQ(made.calls[0].elements, 10u);
  EXPECT_EQ(made.calls[0].input.value, kGiven);
  EXPECT_EQ(made.calls[0].output.value, kTaken);
  EXPECT_TRUE(made.before.empty() && made.after.empty());
}

TEST_F(StepsOfACall, CountBothValuesOfAComplexNumber) {
  const Steps made = steps({.operation = Operation::all_reduce,
                            .send = side(kGiven, 10, 1, kComplex),
                            .receive = side(kTaken, 10, 1, kComplex),
                            .reduction = kSum},
                           0);

  ASSERT_EQ(made.calls.size(), 1u);
  EXPECT_EQ(made.calls[0].reduction.type, ElementType::float32);
  EXPECT_EQ(made.calls[0].elements, 20u);
}

TEST_F(StepsOfACall, KeepTheRootsValueAsideWhereItsResultGoes) {
  const Call call{.operation = Operation::reduce,
                  .send = in_place(),
                  .receive = side(kTaken, kMany),
                  .reduction = kSum,
                  .root = 2};

  const Steps made = steps(call, 2);

  ASSERT_EQ(made.before.size(), 1u);
  EXPECT_EQ(made.before[0].from.value, kTaken);
  EXPECT_EQ(made.before[0].bytes, Bytes{4 * kMany});
  ASSERT_EQ(made.calls.size(), 1u);
  EXPECT_EQ(made.calls[0].input, made.before[0].to);
  EXPECT_EQ(made.calls[0].output.value, kTaken);
}

TEST_F(StepsOfACall, ScatterAReductionInPlaceIntoTheFirstPart) {
  const Call call{.operation = Operation::reduce_scatter_block,
                  .send = in_place(),
                  .receive = side(kTaken, 10, 3),
                  .reduction = kSum};

  const Steps made = steps(call, 1);

  ASSERT_EQ(made.calls.size(), 1u);
  EXPECT_EQ(made.calls[0].input.value, kTaken);
  EXPECT_NE(made.calls[0].output.value, kTaken);
  ASSERT_EQ(made.after.size(), 1u);
  EXPECT_EQ(made.after[0].to.value, kTaken);
  EXPECT_EQ(made.after[0].bytes, 40_B);
}

TEST_F(StepsOfACall, ReduceAllWhereThePartsAreUnequal) {
  const std::array<int, 3> counts{1, 5, 2};
  const Call call{.operation = Operation::reduce_scatter,
                  .send = side(kGiven, 8),
                  .receive = side(kTaken, 5),
                  .counts = counts.data(),
                  .reduction = kSum};

  const Steps made = steps(call, 1);

  ASSERT_EQ(made.calls.size(), 1u);
  EXPECT_EQ(made.calls[0].collective, Collective::all_reduce);
  EXPECT_EQ(made.calls[0].elements, 8u);
  ASSERT_EQ(made.after.size(), 1u);
  EXPECT_EQ(made.after[0].from, made.calls[0].output + 4_B);
  EXPECT_EQ(made.after[0].bytes, 20_B);
}

TEST_F(StepsOfACall, GatherAtTheRootOnly) {
  const Call call{.operation = Operation::gather,
                  .send = side(kGiven, kMany),
                  .receive = side(kTaken, kMany, 0),
                  .root = 1};

  const Steps made = steps(call, 0);

  ASSERT_EQ(made.calls.size(), 1u);
  EXPECT_EQ(made.calls[0].collective, Collective::all_to_all_v);
  EXPECT_EQ(made.calls[0].counts, (std::vector<std::uint64_t>{0, 1, 0, 0, 1, 0, 0, 1, 0}));
  EXPECT_EQ(made.calls[0].elements, 4 * kMany);
  EXPECT_EQ(made.calls[0].output.value, 0u);
}

TEST_F(StepsOfACall, GatherAndReduceFewBytesAtAllRanksInMemoryOfTheirOwn) {
  const Call gather{.operation = Operation::gather,
                    .send = side(kGiven, 10),
                    .receive = side(kTaken, 10, 0),
                    .root = 1};
  const Call reduce{.operation = Operation::reduce,
                    .send = in_place(),
                    .receive = side(kTaken, 10),
                    .reduction = kSum,
                    .root = 1};

  const Steps at_other = steps(gather, 0), at_root = steps(reduce, 1);

  ASSERT_EQ(at_other.calls.size(), 1u);
  EXPECT_EQ(at_other.calls[0].collective, Collective::all_gather);
  EXPECT_NE(at_other.calls[0].output.value, 0u);
  ASSERT_EQ(at_root.calls.size(), 1u);
  EXPECT_EQ(at_root.calls[0].collective, Collective::all_reduce);
  EXPECT_NE(at_root.calls[0].input.value, kTaken);  // others are not in place
  EXPECT_EQ(at_root.calls[0].output.value, kTaken);
}

TEST_F(StepsOfACall, ScatterFewBytesByWayOfAllRanks) {
  const Call call{.operation = Operation::scatter,
                  .send = side(kGiven, 10, 0),
                  .receive = side(kTaken, 10),
                  .root = 1};

  const Steps made = steps(call, 2);

  ASSERT_EQ(made.calls.size(), 1u);
  EXPECT_EQ(made.calls[0].collective, Collective::broadcast);
  ASSERT_EQ(made.after.size(), 1u);
  EXPECT_EQ(made.after[0].from, made.calls[0].output + 80_B);
  EXPECT_EQ(made.after[0].to.value, kTaken);
}

TEST_F(StepsOfACall, UnpackPartsThatDoNotLieSideBySide) {
  const std::array<int, 3> counts{1, 2, 3}, apart{0, 4, 8};
  Side taken = side(kTaken, 0, 3);
  taken.counts = counts.data();
  taken.displacements = apart.data();
  const Call call{
      .operation = Operation::gather_v, .send = side(kGiven, 2), .receive = taken, .root = 1};

  const Steps made = steps(call, 1, {1, 2, 3});

  ASSERT_EQ(made.calls.size(), 1u);
  EXPECT_EQ(made.calls[0].counts, (std::vector<std::uint64_t>{0, 1, 0, 0, 2, 0, 0, 3, 0}));
  ASSERT_EQ(made.after.size(), 3u);
  EXPECT_EQ(made.after[2].from, made.calls[0].output + 12_B);
  EXPECT_EQ(made.after[2].to.value, kTaken + 32);
  EXPECT_EQ(made.after[2].bytes, 12_B);
}

TEST_F(StepsOfACall, MoveBytesInTheSameWordsWhateverTheTypeIs) {
  const auto broadcast = [&](Count count, Handle type) {
    const Side all = side(kGiven, count, 1, type);
    return steps({.operation = Operation::broadcast, .send = all, .receive = all}, 0);
  };

  const Steps of_floats = broadcast(6, kFloat), of_bytes = broadcast(24, kByte);

  ASSERT_EQ(of_floats.calls.size(), 1u);
  EXPECT_EQ(of_floats.calls[0].reduction.type, of_bytes.calls[0].reduction.type);
  EXPECT_EQ(of_floats.calls[0].elements, of_bytes.calls[0].elements);
}

TEST_F(StepsOfACall, AreNoneForTypesAndOperatorsThatWeDoNotHave) {
  const auto all_reduce = [&](Handle type, Handle reduction) {
    return Call{.operation = Operation::all_reduce,
                .send = side(kGiven, 10, 1, type),
                .receive = side(kTaken, 10, 1, type),
                .reduction = reduction};
  };

  EXPECT_TRUE(is_ours(library_, all_reduce(kFloat, kSum)));
  EXPECT_TRUE(is_ours(library_, all_reduce(kComplex, kSum)));
  EXPECT_FALSE(is_ours(library_, all_reduce(kComplex, kMaximum)));
  EXPECT_FALSE(is_ours(library_, all_reduce(kFloat, kOther)));
  EXPECT_FALSE(is_ours(library_, all_reduce(kByte, kSum)));
  EXPECT_FALSE(is_ours(library_, all_reduce(kStrided, kSum)));
}

TEST(RangesOfMemory, ReachFromTheFirstByteToTheLastOne) {
  const Library mpi = library();
  const std::array<int, 3> counts{1, 0, 2}, at{5, 100, 1};
  Side side{.memory = nullptr, .type = kFloat, .parts = 3};
  side.counts = counts.data();
  side.displacements = at.data();

  const mpi::Range range = mpi::range_of(mpi, side);

  EXPECT_EQ(range.begin, 4);
  EXPECT_EQ(range.end, 24);
}

}  // namespace
}  // namespace polypath::test::mpi_steps_test
