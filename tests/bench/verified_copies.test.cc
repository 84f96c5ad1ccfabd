// What `verified` says: any copy or reduction of the runs that are compared is seen to be wrong.
// Each is made wrong in turn, one after another.
//
// All bits of all results are compared, so that what is not seen has left them right. That can be
// of three kinds. In a window of several copies to one place all but the last are written over.
// Before a collective runs, outputs are filled with what no result is. And a value may lose to the
// others, as one that is not the least has no part in a minimum, and a small bit none in a large
// sum.

#include <gmock/gmock.h>

#include "bench/collectives.h"
#include "bench/measure.h"

namespace polypath::bench::verified_copies_test {
namespace {

/// Messages of a few hundred KiB already go over several paths in several chunks.
Settings settings() {
  Settings settings;
  settings.min_message = 0_B;
  settings.min_chunk = 64_KiB;
  settings.min_gain = 0;
  return settings;
}

/// The numbers of the moves that could be wrong without being noticed; `is_verified` runs what
/// moves them. Of more than a few hundred some are left out.
template <class IsVerified>
std::vector<int> unnoticed(IsVerified is_verified, int& all) {
  sim::Flip none;
  EXPECT_TRUE(is_verified(none));
  all = none.done;
  std::vector<int> missed;
  const int step = 1 + all / 150;
  for (int number = 1; number <= all; number += step) {
    sim::Flip flip{.at = number};
    if (is_verified(flip)) missed.push_back(number);
  }
  return missed;
}

struct OperationCase {
  const char* machine;
  const char* operation;
  const char* source;
  const char* destination;
  Executor executor = Executor::stream;
};

class VerifiedOperations : public testing::TestWithParam<OperationCase> {};

INSTANTIATE_TEST_SUITE_P(Of, VerifiedOperations,
                         testing::Values(OperationCase{"beluga", "put", "gpu0", "gpu1"},
                                         OperationCase{"beluga", "put", "gpu0", "gpu1",
                                                       Executor::graph},
                                         OperationCase{"beluga", "bibw", "gpu0", "gpu1"},
                                         OperationCase{"h200x4", "h2d", "host", "gpu1"},
                                         OperationCase{"h200x4", "d2h", "gpu1", "host"},
                                         OperationCase{"h200x4", "alltoall", "gpu0", "gpu1"},
                                         OperationCase{"mist", "latency", "gpu0", "gpu2"},
                                         OperationCase{"nop2p4", "put", "gpu0", "gpu1"},
                                         OperationCase{"h200x4", "many", "gpu0", "gpu1"}));

TEST_P(VerifiedOperations, NoticeAnyWrongCopy) {
  const OperationCase& of = GetParam();
  Request request;
  request.machine = of.machine, request.operation = of.operation;
  request.source = of.source, request.destination = of.destination;
  request.sizes = {512_KiB};
  request.settings = settings();
  request.options.executor = of.executor;
  request.settings.piece_kernels = false;  // kernels are no copies
  if (request.operation == "many") request.pieces = 8;
  int all = 0;

  const std::vector<int> missed = unnoticed(
      [&](sim::Flip& flip) {
        const OpenMachine opened = open_machine(request.machine, request.settings, {.flip = &flip});
        return measure_all(opened, request, nullptr).front().verified;
      },
      all);

  EXPECT_GT(all, 0);
  EXPECT_THAT(missed, testing::IsEmpty()) << "of " << all;
}

struct CollectiveCase {
  const char* machine;
  Collective collective;
  const char* algorithm;
  ReduceOperator operation = ReduceOperator::sum;
  ElementType type = ElementType::float32;
  std::optional<int> nodes = std::nullopt;
};

class VerifiedCollectives : public testing::TestWithParam<CollectiveCase> {};

INSTANTIATE_TEST_SUITE_P(
    Of, VerifiedCollectives,
    testing::Values(
        CollectiveCase{"beluga", Collective::all_reduce, "flat"},
        CollectiveCase{"beluga", Collective::all_reduce, "ring", ReduceOperator::average},
        CollectiveCase{"h200x4", Collective::all_reduce, "auto"},
        CollectiveCase{"beluga", Collective::all_reduce, "knomial", ReduceOperator::sum,
                       ElementType::bfloat16},
        CollectiveCase{"mist", Collective::all_reduce, "chain", ReduceOperator::product},
        CollectiveCase{"nop2p4", Collective::all_reduce, "host", ReduceOperator::average,
                       ElementType::float16},
        CollectiveCase{"mist", Collective::all_reduce, "hierarchical", ReduceOperator::sum,
                       ElementType::uint8},
        CollectiveCase{"mist", Collective::all_reduce, "nodes", ReduceOperator::sum,
                       ElementType::uint8, 4},
        CollectiveCase{"beluga", Collective::reduce_scatter, "flat"},
        CollectiveCase{"beluga", Collective::reduce, "tree"},
        CollectiveCase{"beluga", Collective::all_gather, "bruck"},
        CollectiveCase{"beluga", Collective::all_to_all, "exchange"},
        CollectiveCase{"beluga", Collective::broadcast, "ring", ReduceOperator::sum,
                       ElementType::boolean}));

// Of n ranks inputs are written, then outputs filled, by a copy each; twice.
TEST_P(VerifiedCollectives, NoticeAnyWrongMoveOfTheirPrograms) {
  const CollectiveCase& of = GetParam();
  CollectiveBench bench;
  bench.machine = of.machine, bench.nodes = of.nodes;
  bench.settings = settings();
  bench.request.collective = of.collective;
  bench.request.reduction = {of.operation, of.type};
  bench.sizes = {20'000_B};
  bench.algorithms = {of.algorithm};
  int all = 0;
  const ChosenMachine chosen = choose_machine(bench);
  const auto ranks = static_cast<int>(chosen.machine.places_of(PlaceKind::gpu).size());

  const std::vector<int> missed = unnoticed(
      [&](sim::Flip& flip) {
        return measure_collectives(open_machine(chosen, bench.settings, {.flip = &flip}), bench, {})
            .front()
            .verified;
      },
      all);

  const int in_each = all / 2, filled = 2 * ranks;
  EXPECT_EQ(all % 2, 0);
  for (const int number : missed)
    EXPECT_LE((number - 1) % in_each, filled - 1) << "move " << number << " of " << all;
}

}  // namespace
}  // namespace polypath::bench::verified_copies_test
