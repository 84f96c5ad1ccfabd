// The automatic plan against exhaustive search.

#include <gtest/gtest.h>

#include <cctype>

#include "bench/figures.h"
#include "bench/tune.h"
#include "support/effort.h"

namespace polypath::bench::search_test {
namespace {

struct Case {
  std::string source;
  std::string destination;
  Bytes bytes;
};

// How much longer the automatic plan takes, kept to this executor, than the best found. What gains
// less than planning asks for does not count.
double excess(const Machine& machine, const Case& of, Executor executor) {
  Settings settings;
  settings.executor = name_of(executor);
  const Lane pair{machine.find_place(of.source), machine.find_place(of.destination)};
  const Tuned tuned = tune_one(machine, pair, of.bytes, executor, settings);
  const double best = std::min(tuned.seconds, tuned.native_seconds).value;
  const double ratio = tuned.automatic_seconds.value / best;
  std::cout << fmt::format("{} {}-{} {} {}: {:+.2f} % ({} candidates, gain {:.3f} x)\n",
                           machine.name, of.source, of.destination, describe_bytes(of.bytes),
                           name_of(executor), 100 * (ratio - 1), tuned.entry.tried,
                           tuned.native_seconds.value / best)
            << std::flush;
  return tuned.automatic_seconds.value - best <= DriverBehaviour{}.least_gain.value ? 0 : ratio - 1;
}

std::string machine_name(const testing::TestParamInfo<std::string>& info) {
  std::string name;
  for (const char letter : info.param)
    if (std::isalnum(static_cast<unsigned char>(letter))) name += letter;
  return name;
}

class ExhaustiveSearch : public testing::TestWithParam<std::string> {};

TEST_P(ExhaustiveSearch, FindsNothingThreePerCentFaster) {
  const Machine machine = load_machine(GetParam());
  if (!test::is_long() && machine.places_of(PlaceKind::gpu).size() > 4)
    GTEST_SKIP() << "in the long form: four GPUs have paths of every kind";

  using Sizes = std::vector<Bytes>;
  for (const Bytes bytes :
       test::short_or_long(Sizes{8_MiB, 512_MiB}, Sizes{8_MiB, 64_MiB, 512_MiB}))
    for (const auto& [from, to] : {std::pair{"gpu0", "gpu1"}, {"host0", "gpu0"}, {"gpu0", "host0"}})
      for (const Executor executor : {Executor::stream, Executor::graph})
        EXPECT_LE(excess(machine, {from, to, bytes}, executor), 0.03)
            << from << " to " << to << ", " << describe_bytes(bytes) << ", " << name_of(executor);
}

// Pairs, sizes and executors follow from the seed.
double synthetic_excess(std::uint64_t seed) {
  const Machine machine = synthetic_machine(seed);
  const Bytes bytes = 8_MiB * (std::uint64_t{1} << (seed / 2 % 7));
  const Executor executor = seed / 14 % 2 == 0 ? Executor::stream : Executor::graph;
  const bool between_gpus = seed % 2 == 0;
  return excess(machine, {between_gpus ? "gpu0" : "host0", between_gpus ? "gpu1" : "gpu0", bytes},
                executor);
}

// Machines in ten lots that run beside each other; each lot keeps the bound of the mean on its own.
class SyntheticSearch : public testing::TestWithParam<std::uint64_t> {};

TEST_P(SyntheticSearch, FindsLittle) {
  const std::uint64_t machines = test::short_or_long(2, 10);
  double sum = 0, largest = 0;

  for (std::uint64_t seed = GetParam() * 10; seed < GetParam() * 10 + machines; ++seed) {
    const double here = synthetic_excess(seed);
    EXPECT_LE(here, 0.05) << "seed " << seed;
    sum += std::max(here, 0.0);
    largest = std::max(largest, here);
  }

  std::cout << fmt::format("mean {:.2f} %, largest {:.2f} %\n",
                           100 * sum / static_cast<double>(machines), 100 * largest);
  EXPECT_LE(sum / static_cast<double>(machines), 0.015);
}

INSTANTIATE_TEST_SUITE_P(Lots, SyntheticSearch, testing::Range<std::uint64_t>(0, 10));
INSTANTIATE_TEST_SUITE_P(Zoo, ExhaustiveSearch, testing::ValuesIn(zoo_names()), machine_name);

}  // namespace
}  // namespace polypath::bench::search_test
