// The automatic plan is never slower than one native copy, however often it runs: from the first
// copy (streams, cold) to the repeated one (graphs).

#include <gtest/gtest.h>

#include <cctype>

#include "bench/figures.h"
#include "support/effort.h"

namespace polypath::bench::never_slower_test {
namespace {

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name;
  for (const char letter : info.param)
    if (std::isalnum(static_cast<unsigned char>(letter))) name += letter;
  return name;
}

// At the size that comes `turn`th. Of many pairs, most of which are alike, a quarter has its turn
// at each size.
std::vector<Lane> joined_pairs(const Machine& machine, std::size_t turn) {
  const std::size_t step = machine.hops.size() > 16 ? 4 : 1;
  std::vector<Lane> pairs;
  for (std::size_t h = turn % step; h < machine.hops.size(); h += step)
    pairs.push_back({machine.hops[h].source, machine.hops[h].destination});
  return pairs;
}

// The least ratio of native to automatic time over the first runs.
double least_gain(const Machine& machine, const Lane& pair, Bytes bytes) {
  const Settings settings;
  OperationRun operation_run(simulate(machine, settings, sim::kTimingOnly), {"put", {pair}, false},
                             bytes);
  PlanOptions native;
  native.executor = Executor::native;
  const Seconds native_time = operation_run.run(native, 1);
  double least = Seconds::infinity().value;
  for (int run = 0; run < 4; ++run) least = std::min(least, native_time / operation_run.run({}, 1));
  return least;
}

class NeverSlower : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (test::is_left_out(GetParam(), {"narval", "dgx-a100"})) GTEST_SKIP() << "in the long form";
  }
};

TEST_P(NeverSlower, ThanNativeForEveryPairAndSize) {
  const Machine machine = load_machine(GetParam());
  double worst = Seconds::infinity().value;
  std::string where;

  std::size_t turn = 0;
  const bool many = machine.places_of(PlaceKind::gpu).size() > 4 && !test::is_long();
  for (const Bytes bytes : powers_of_two(4_KiB, 1_GiB))
    for (const Lane& pair : joined_pairs(machine, turn++)) {
      if (many && turn % 3 != 0) continue;  // every third size
      const double gain = least_gain(machine, pair, bytes);
      if (gain >= worst) continue;
      worst = gain;
      where = fmt::format("{} to {}, {}", machine.place(pair.source).name,
                          machine.place(pair.destination).name, describe_bytes(bytes));
    }

  std::cout << fmt::format("{}: least gain {:.4f} x ({})\n", GetParam(), worst, where);
  EXPECT_GE(worst, 0.99) << where;
}

INSTANTIATE_TEST_SUITE_P(Zoo, NeverSlower, testing::ValuesIn(zoo_names()), test_name);

}  // namespace
}  // namespace polypath::bench::never_slower_test
