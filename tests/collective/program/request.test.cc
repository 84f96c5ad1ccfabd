#include "collective/program/request.h"

#include <gtest/gtest.h>

#include "collective/support/ranks.h"
#include "machine/load_machine.h"
#include "support/errors.h"

namespace polypath::test::request_test {
namespace {

CollectiveRequest all_reduce_of(const Machine& machine, int ranks, std::uint64_t elements) {
  return {.collective = Collective::all_reduce,
          .ranks = first_gpus(machine, ranks),
          .elements = elements};
}

TEST(CollectiveRequest, HasTheSizesOfItsTable) {
  const Machine machine = load_machine("cedar");
  CollectiveRequest request = all_reduce_of(machine, 4, 10);
  struct Sizes {
    Collective collective;
    std::uint64_t input, output;
  };
  // 10 elements of 4 bytes are 40 bytes, four parts of them 160.
  const std::vector<Sizes> table = {
      {Collective::all_reduce, 40, 40},      {Collective::reduce, 40, 40},
      {Collective::reduce_scatter, 160, 40}, {Collective::all_gather, 40, 160},
      {Collective::all_to_all, 160, 160},    {Collective::broadcast, 40, 40}};

  for (const auto& [collective, input, output] : table) {
    request.collective = collective;

    EXPECT_EQ(input_bytes(request, 0).value, input) << name_of(collective);
    EXPECT_EQ(output_bytes(request, 0).value, output) << name_of(collective);
  }
}

TEST(CollectiveRequest, OfARootGivesOthersNothing) {
  CollectiveRequest request = all_reduce_of(load_machine("cedar"), 4, 10);
  request.root = 2;

  request.collective = Collective::reduce;
  EXPECT_EQ(output_bytes(request, 1).value, 0U);
  request.collective = Collective::broadcast;
  EXPECT_EQ(input_bytes(request, 1).value, 0U);
  EXPECT_EQ(input_bytes(request, 2).value, 40U);
}

// Of 1000 bytes all_gather on 4 ranks has 1000 / (4 · 4) = 62 elements per rank.
TEST(CollectiveRequest, IsCutToTheMessage) {
  CollectiveRequest request = all_reduce_of(load_machine("cedar"), 4, 1);
  request.collective = Collective::all_gather;

  EXPECT_EQ(with_message(request, 1000_B).elements, 62U);
  EXPECT_EQ(with_message(request, 1_B).elements, 1U);
}

TEST(CollectiveRequest, KnowsTypesByTheirNamesElsewhere) {
  for (const auto& [name, type] : {std::pair{"torch.float32", ElementType::float32},
                                   {"FLOAT16", ElementType::float16},
                                   {"half", ElementType::float16},
                                   {"BF16", ElementType::bfloat16},
                                   {"numpy.int64", ElementType::int64},
                                   {"<f8", ElementType::float64},
                                   {"|u1", ElementType::uint8},
                                   {"fp32", ElementType::float32},
                                   {"torch.float8_e4m3fn", ElementType::float8_e4m3fn},
                                   {"bool_", ElementType::boolean}})
    EXPECT_EQ(parse_element_type(name), type) << name;
  for (const char* name : {"float", "int", "complex64", ">f4", "", ".", "float32x"})
    expect_invalid_argument([&] { (void)parse_element_type(name); }, "is unknown");
}

TEST(CollectiveRequest, KnowsReductionsByTheirNamesElsewhere) {
  for (const auto& [name, operation] : {std::pair{"SUM", ReduceOperator::sum},
                                        {"avg", ReduceOperator::average},
                                        {"ReduceOp.AVG", ReduceOperator::average},
                                        {"mean", ReduceOperator::average},
                                        {"RedOpType.PRODUCT", ReduceOperator::product},
                                        {"prod", ReduceOperator::product},
                                        {"maximum", ReduceOperator::maximum},
                                        {"Min", ReduceOperator::minimum}})
    EXPECT_EQ(parse_reduce_operator(name), operation) << name;
  for (const char* name : {"median", "", "sum."})
    expect_invalid_argument([&] { (void)parse_reduce_operator(name); }, "is unknown");
}

TEST(CollectiveRequest, NamesAreRead) {
  for (const auto* types : {&all_element_types(), &moved_element_types()})
    for (const ElementType type : *types) EXPECT_EQ(parse_element_type(name_of(type)), type);
}

TEST(CollectiveRequest, StaysAtHomeWhereNothingGoesToAnotherRank) {
  const Machine machine = load_machine("cedar");
  CollectiveRequest counts = all_reduce_of(machine, 2, 5);
  counts.collective = Collective::all_to_all_v;

  EXPECT_TRUE(stays_at_home(all_reduce_of(machine, 1, 5)));
  EXPECT_TRUE(stays_at_home(all_reduce_of(machine, 2, 0)));
  EXPECT_FALSE(stays_at_home(all_reduce_of(machine, 2, 5)));
  EXPECT_FALSE(stays_at_home(counts));
  counts.counts = {1, 0, 0, 2};
  EXPECT_TRUE(stays_at_home(counts));
  counts.counts = {1, 0, 1, 2};
  EXPECT_FALSE(stays_at_home(counts));
}

TEST(CollectiveRequest, SaysWhatIsWrongWithIt) {
  const Machine machine = load_machine("cedar");
  CollectiveRequest twice = all_reduce_of(machine, 3, 8);
  twice.ranks[2] = twice.ranks[1];
  CollectiveRequest host = all_reduce_of(machine, 3, 8);
  host.ranks[1] = machine.find_place("host0");
  CollectiveRequest rootless = all_reduce_of(machine, 3, 8);
  rootless.root = 3;

  expect_invalid_argument([&] { check(machine, twice); }, "gpu1", "rank 1 and rank 2");
  expect_invalid_argument([&] { check(machine, host); }, "rank 1", "host0", "no GPU");
  expect_invalid_argument([&] { check(machine, rootless); }, "rank 3", "0 to 2");
  expect_invalid_argument([&] { check(machine, all_reduce_of(machine, 1, 8)); }, "1 ranks");
  expect_invalid_argument([&] { check(machine, all_reduce_of(machine, 4, 0)); }, "0 elements");
  CollectiveRequest whole = all_reduce_of(machine, 4, 8);
  whole.reduction = {ReduceOperator::average, ElementType::int32};
  expect_invalid_argument([&] { check(machine, whole); }, "int32", "averages", "floating-point");
}

TEST(CollectiveRequest, HasNamesThatAreReadBack) {
  for (const Collective collective : all_collectives())
    EXPECT_EQ(parse_collective(name_of(collective)), collective);
  expect_invalid_argument([] { (void)parse_collective("allredue"); }, "allredue", "allreduce");
  expect_invalid_argument([] { (void)parse_element_type("float"); }, "float32");
  expect_invalid_argument([] { (void)parse_reduce_operator("plus"); },
                          "sum, product, min, max, average");
}

}  // namespace
}  // namespace polypath::test::request_test
