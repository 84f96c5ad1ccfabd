// Sums in the order of the ranks (collective/algorithms/fold.h): how many kernels make them. What
// comes out is compared by the tests of algorithms.

#include <gtest/gtest.h>

#include <algorithm>

#include "collective/algorithms/algorithm.h"
#include "collective/support/ranks.h"
#include "kernels/reduce_layout.h"
#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::fold_test {
namespace {

// Each rank reduces one part.
Program all_reduce_of(const Machine& machine, int ranks) {
  const CollectiveRequest request{.ranks = first_gpus(machine, ranks), .elements = 100};
  return build(find_algorithm("flat"), machine, request, {});
}

auto count(const Program& program, Operation operation) {
  return std::ranges::count(program.nodes(), operation, &Node::operation);
}

TEST(Fold, OfTwoOperandsIsAReductionOfTheDriver) {
  const Program program = all_reduce_of(load_machine("h200x4"), 2);

  EXPECT_EQ(count(program, Operation::reduce), 2);
  EXPECT_EQ(count(program, Operation::kernel), 0);
}

TEST(Fold, OfMoreOperandsIsOneKernel) {
  for (const int ranks : {3, 4, 8}) {
    const Program program = all_reduce_of(load_machine("h200x8"), ranks);

    EXPECT_EQ(count(program, Operation::reduce), 0);
    EXPECT_EQ(count(program, Operation::kernel), ranks);
    EXPECT_TRUE(program.reduces());
    for (const Node& node : program.nodes())
      if (node.operation == Operation::kernel)
        EXPECT_EQ(program.call_of(node).memory.size(), 1 + static_cast<std::size_t>(ranks));
  }
}

// Three times the bytes of the result are read and written for two operands, five times for four.
TEST(ReductionTime, IsInProportionToWhatIsReadAndWritten) {
  const Machine machine = load_machine("h200x4");
  const PlaceId gpu = machine.find_place("gpu0");
  const Seconds latency = machine.reduction_time(gpu, 0_B);

  const Seconds of_two = machine.reduction_time(gpu, 16_MiB) - latency;
  const Seconds of_four = machine.reduction_time(gpu, 16_MiB, 4) - latency;

  EXPECT_NEAR(of_four / of_two, 5.0 / 3, 1e-9);
}

}  // namespace
}  // namespace polypath::test::fold_test
