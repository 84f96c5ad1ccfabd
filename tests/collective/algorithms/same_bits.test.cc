// Reductions whose rounding depends on the order have the same bits on every rank, in every run, of
// every size, by whatever is chosen: those of reduce_on_host in the order of the ranks, or of the
// ranks of each group or node and then of these.

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "collective/algorithms/fixed_order.h"
#include "collective/choose/choose.h"
#include "collective/support/ranks.h"
#include "machine/load_machine.h"
#include "machine/nodes.h"
#include "support/effort.h"
#include "support/errors.h"

namespace polypath::test::same_bits_test {
namespace {

using Values = std::vector<std::byte>;

std::vector<Machine> machines() {
  std::vector<Machine> machines;
  for (const char* name : {"beluga", "cedar", "mist", "narval", "h200x8", "pcie4", "nop2p4",
                           "synthetic:3", "synthetic:7", "dgx-a100", "synthetic:11"})
    machines.push_back(load_machine(name));
  for (const auto& [name, nodes] : {std::pair("mist", 2), {"cedar", 3}})
    machines.push_back(machine_of_nodes(load_machine(name), nodes));
  return machines;
}

// Of any fraction and either sign, of magnitudes between 2^-62 and 2: every order of adding them
// rounds differently. Some are 0 or -0. Whole numbers of any value.
Values random_values(Random& random, ElementType type, Bytes bytes) {
  Values values(bytes.value);
  for (std::byte& each : values) each = static_cast<std::byte>(random.between(0, 255));
  if (!is_floating_point(type)) return values;
  const bool long_exponent = type == ElementType::float32 || type == ElementType::bfloat16;
  const std::byte kept{static_cast<unsigned char>(long_exponent ? 0x81 : 0x83)};
  const std::byte exponent{static_cast<unsigned char>(long_exponent ? 0x3e : 0x3c)};
  for (std::size_t i = bytes_of(type).value - 1; i < values.size(); i += bytes_of(type).value)
    values[i] = (values[i] & kept) | exponent;
  const std::size_t size = bytes_of(type).value;
  for (std::size_t i = 0; i < values.size(); i += size)
    if (random.chance(20)) {
      std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(i), size, std::byte{0});
      if (random.chance(50)) values[i + size - 1] = std::byte{0x80};
    }
  return values;
}

// x0 ∘ x1 ∘ …; an average is of `all`.
Values in_order(const Reduction& reduction, const std::vector<Values>& values, int all) {
  Values result = values.front();
  Reduction step = reduction;
  step.values = all, step.from = 1;
  for (std::size_t rank = 1; rank < values.size(); ++rank) {
    step.into = static_cast<int>(rank);
    reduce_on_host(step, result.data(), values[rank].data(), {result.size()});
  }
  return result;
}

// Of each group, then of the groups.
Values in_groups(const Reduction& reduction, const std::vector<std::vector<int>>& groups,
                 const std::vector<Values>& values) {
  Values all;
  int summed = 0;
  for (const auto& group : groups) {
    std::vector<Values> own;
    for (const int rank : group) own.push_back(values[static_cast<std::size_t>(rank)]);
    const Values sum = in_order(reduction, own, static_cast<int>(values.size()));
    const int more = static_cast<int>(group.size());
    if (summed == 0) {
      all = sum;
    } else {
      Reduction step = reduction;
      step.values = static_cast<int>(values.size());
      step.into = summed, step.from = more;
      reduce_on_host(step, all.data(), sum.data(), {all.size()});
    }
    summed += more;
  }
  return all;
}

Values in_fixed_order(const Machine& machine, const CollectiveRequest& request,
                      const std::vector<Values>& values) {
  return in_groups(request.reduction, order_groups(machine, request), values);
}

std::uint64_t infinity_of(ElementType type) {
  switch (type) {
    case ElementType::float16: return 0x7c00;
    case ElementType::bfloat16: return 0x7f80;
    case ElementType::float32: return 0x7f800000;
    default: return 0x7ff0000000000000;
  }
}

// One request with its values, which any program of it may be run on.
class Case {
 public:
  using MakeValues = Values(Random& random, ElementType type, Bytes bytes);
  Case(Random& random, const Machine& machine, const CollectiveRequest& request,
       MakeValues make = random_values)
      : ranks_(machine, request) {
    for (int rank = 0; rank < request.size(); ++rank)
      values_.push_back(make(random, request.reduction.type, input_bytes(request, rank)));
    expected_ = in_fixed_order(machine, request, values_);
  }

  [[nodiscard]] const std::vector<Values>& values() const { return values_; }
  // Of a floating-point type: no exponent has all bits set.
  [[nodiscard]] bool is_finite() const {
    const ElementType type = ranks_.request().reduction.type;
    const std::size_t size = bytes_of(type).value;
    const std::uint64_t infinite = infinity_of(type);
    for (std::size_t i = 0; i < expected_.size(); i += size) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, expected_.data() + i, size);
      if ((bits & infinite) == infinite) return false;
    }
    return true;
  }

  void expect_fixed_order(const CollectiveProgram& program, const std::string& what) {
    for (std::size_t rank = 0; rank < values_.size(); ++rank)
      std::memcpy(reinterpret_cast<void*>(ranks_.buffers()[rank].value), values_[rank].data(),
                  values_[rank].size());
    ranks_.runner().run(program, ranks_.buffers(), ranks_.stream(), ranks_.gpu());
    ranks_.driver().synchronize(ranks_.stream());
    const CollectiveRequest& request = ranks_.request();
    for (int rank = 0; rank < request.size(); ++rank) {
      const Bytes bytes = output_bytes(request, rank);
      const bool in_parts = request.collective == Collective::reduce_scatter;
      const std::size_t first = in_parts ? bytes.value * static_cast<std::size_t>(rank) : 0;
      EXPECT_EQ(std::memcmp(ranks_.output(rank), expected_.data() + first, bytes.value), 0)
          << what << ", rank " << rank;
    }
  }

 private:
  Ranks ranks_;
  std::vector<Values> values_;
  Values expected_;
};

CollectiveRequest random_request(Random& random, const Machine& machine) {
  std::vector<PlaceId> gpus = machine.places_of(PlaceKind::gpu);
  for (std::size_t i = gpus.size(); i > 1; --i) std::swap(gpus[i - 1], gpus[random.index(i)]);
  if (machine.nodes() == 1 || random.chance(40))
    gpus.resize(static_cast<std::size_t>(random.integer(2, static_cast<int>(gpus.size()))));
  CollectiveRequest request{.ranks = gpus};
  request.collective = random.pick(std::vector<Collective>{
      Collective::all_reduce, Collective::reduce, Collective::reduce_scatter});
  request.elements = random.between(1, random.chance(50) ? 64 : 60'000);
  do request.reduction = random_reduction(random);
  while (!depends_on_order(request.reduction) && random.chance(80));
  request.root = random.integer(0, request.size() - 1);
  request.in_place = random.chance(50);
  return request;
}

std::string in_words(const CollectiveRequest& request, const Machine& machine) {
  return std::string(name_of(request.collective)) + " of " + std::to_string(request.elements) +
         " x " + name_of(request.reduction.type) + " " + name_of(request.reduction.operation) +
         " on " + std::to_string(request.size()) + " of " + machine.name +
         (request.in_place ? ", in place" : "");
}

TEST(SameBits, OfWhateverIsChosen) {
  Random random(41);
  for (const Machine& machine : machines()) {
    CollectivePlanner planner(machine, collective_settings());
    for (int number = 0; number < test::short_or_long(2, 4) && !testing::Test::HasFailure();
         ++number) {
      const CollectiveRequest request = random_request(random, machine);
      SCOPED_TRACE(in_words(request, machine));
      Case with_values(random, machine, request);
      for (const PathChoice paths : {PathChoice::one, PathChoice::several})
        for (const Executor executor : {Executor::stream, Executor::graph}) {
          const CollectivePlan plan = planner.plan(
              request, {.executor = executor, .paths = paths, .private_memory = random.chance(30)});
          with_values.expect_fixed_order(*plan.program, plan.chosen().algorithm->name);
        }
    }
  }
}

// Between the half of the largest number and it, some with the other sign: no sum of two has room.
Values large_values(Random& random, ElementType type, Bytes bytes) {
  Values values = random_values(random, type, bytes);
  const std::size_t size = bytes_of(type).value;
  const std::uint64_t infinite = infinity_of(type);
  const std::uint64_t largest_exponent = infinite & (infinite << 1);
  for (std::size_t i = 0; i < values.size(); i += size) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, values.data() + i, size);
    bits = (bits & ~infinite) | largest_exponent;
    std::memcpy(values.data() + i, &bits, size);
  }
  return values;
}

// Those that are represented differently on their way, by any algorithm, are the same in the end.
TEST(SameBits, AveragesAreFiniteWhereSumsAreNot) {
  Random random(44);
  for (const char* name : {"h200x8", "mist", "nop2p4", "synthetic:3"})
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16,
                                   ElementType::float32, ElementType::float64}) {
      const Machine machine = load_machine(name);
      const CollectiveRequest request{.collective = Collective::all_reduce,
                                      .ranks = machine.places_of(PlaceKind::gpu),
                                      .elements = 3000,
                                      .reduction = {ReduceOperator::average, type},
                                      .in_place = random.chance(50)};
      SCOPED_TRACE(in_words(request, machine));
      Case with_values(random, machine, request, large_values);
      EXPECT_TRUE(with_values.is_finite());
      for (const Algorithm& each : algorithms()) {
        if (!each.does(machine, request) || !each.keeps_order(machine, request)) continue;
        const Tuning tuning{.piece = {random.between(256, 32'768)}, .radix = random.integer(2, 8)};
        with_values.expect_fixed_order({build(each, machine, request, tuning), Executor::stream},
                                       each.name);
      }
    }
}

TEST(SameBits, OfEveryAlgorithmInThatOrder) {
  Random random(42);
  for (const Machine& machine : machines()) {
    for (int number = 0; number < 8 && !testing::Test::HasFailure(); ++number) {
      const CollectiveRequest request = random_request(random, machine);
      SCOPED_TRACE(in_words(request, machine));
      Case with_values(random, machine, request);
      for (const Algorithm& each : algorithms()) {
        if (!each.does(machine, request) || !each.keeps_order(machine, request)) continue;
        const Tuning tuning{.piece = {random.between(256, 32'768)},
                            .radix = random.integer(2, 8),
                            .by_hosts = random.chance(50),
                            .private_memory = random.chance(30)};
        with_values.expect_fixed_order({build(each, machine, request, tuning), Executor::stream},
                                       each.name);
      }
    }
  }
}

// Else these tests would show nothing: the values of this file tell orders apart.
TEST(SameBits, AreNotThoseOfAnotherOrder) {
  Random random(43);
  const Reduction sum{ReduceOperator::sum, ElementType::float32};
  std::vector<Values> values;
  for (int rank = 0; rank < 4; ++rank) values.push_back(random_values(random, sum.type, 4000_B));

  const Values in_rank_order = in_order(sum, values, 4);
  const Machine machine = machine_of_nodes(load_machine("mist"), 2);
  const auto gpus = machine.places_of(PlaceKind::gpu);
  const CollectiveRequest of_nodes{.ranks = {gpus[0], gpus[1], gpus[4], gpus[5]}, .reduction = sum};
  EXPECT_NE(in_groups(sum, {{0, 1}, {2, 3}}, values), in_rank_order);
  std::reverse(values.begin(), values.end());

  EXPECT_NE(in_order(sum, values, 4), in_rank_order);
}

TEST(SameBits, AreWhatTheDocumentedOrderSays) {
  for (const char* name : {"flat", "chain", "host", "grouped"})
    EXPECT_STREQ(find_algorithm(name).order, kFixedOrder) << name;
  for (const char* name : {"oneshot", "twoshot", "twoshot-copies"})
    EXPECT_STREQ(find_algorithm(name).order, kRankOrder) << name;
  for (const char* name : {"nodes", "leaders"})
    EXPECT_STREQ(find_algorithm(name).order, kNodeOrder) << name;
  const Machine machine = load_machine("mist");
  const CollectiveRequest sum{.collective = Collective::all_reduce,
                              .ranks = machine.places_of(PlaceKind::gpu)};
  CollectiveRequest least = sum, gather = sum;
  least.reduction.operation = ReduceOperator::minimum;
  gather.collective = Collective::all_gather;

  EXPECT_FALSE(find_algorithm("ring").keeps_order(machine, sum));
  EXPECT_TRUE(find_algorithm("ring").keeps_order(machine, least));
  EXPECT_TRUE(find_algorithm("ring").keeps_order(machine, gather));
}

TEST(SameBits, AreOfAnotherOrderWhereNodesHaveSeveralRanks) {
  const Machine machine = machine_of_nodes(load_machine("mist"), 2);
  const auto gpus = machine.places_of(PlaceKind::gpu);
  CollectiveRequest of_nodes{.collective = Collective::all_reduce, .ranks = gpus}, of_one, of_each;
  of_one = of_each = of_nodes;
  of_one.ranks = {gpus[0], gpus[1]};
  of_each.ranks = {gpus[1], gpus[4]};

  EXPECT_STREQ(fixed_order(machine, of_nodes), kNodeOrder);
  EXPECT_STREQ(fixed_order(machine, of_one), kRankOrder);
  EXPECT_FALSE(find_algorithm("oneshot").keeps_order(machine, of_nodes));
  EXPECT_TRUE(find_algorithm("chain").keeps_order(machine, of_nodes));
  EXPECT_TRUE(find_algorithm("nodes").keeps_order(machine, of_nodes));
  EXPECT_TRUE(find_algorithm("chain").keeps_order(machine, of_each));
  EXPECT_TRUE(find_algorithm("nodes").keeps_order(machine, of_each));
}

}  // namespace
}  // namespace polypath::test::same_bits_test
