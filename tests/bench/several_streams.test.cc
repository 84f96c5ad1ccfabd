// One thread that copies on several streams, again and again: what that gains over the same with
// native copies. Times are the simulated machine's.

#include <gtest/gtest.h>

#include "machine/load_machine.h"
#include "support/effort.h"
#include "support/rig.h"

namespace polypath::test::several_streams_test {
namespace {

using Route = std::pair<std::string, std::string>;

constexpr std::size_t kSize = 16 << 20;
constexpr int kRounds = 12;

enum class Between { nothing, waiting };  // of rounds

Seconds time_of(const std::string& machine, const std::vector<Route>& routes, Between rounds,
                const std::string& executor) {
  Settings settings;
  settings.executor = executor;
  Rig rig(machine, settings);
  std::vector<CopyCall> calls;
  for (const auto& [from, to] : routes)
    calls.push_back(rig.call(rig.buffer(to, kSize), 0, rig.buffer(from, kSize), 0, kSize,
                             rig.stream(from == "host0" ? to : from)));
  const Seconds start = rig.driver().now();
  for (int round = 0; round < kRounds; ++round) {
    for (const CopyCall& call : calls) (void)rig.engine().copy(call);
    if (rounds == Between::waiting) rig.synchronize();
  }
  rig.synchronize();
  return rig.driver().now() - start;
}

double speedup(const std::string& machine, const std::vector<Route>& routes,
               Between rounds = Between::nothing) {
  return time_of(machine, routes, rounds, "native") / time_of(machine, routes, rounds, "auto");
}

const std::vector<Route> kScatter = {{"gpu0", "gpu1"}, {"gpu0", "gpu2"}, {"gpu0", "gpu3"}};
const std::vector<Route> kGather = {{"gpu1", "gpu0"}, {"gpu2", "gpu0"}, {"gpu3", "gpu0"}};

class SeveralStreams : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (test::is_left_out(GetParam(), {"narval", "dgx-a100"})) GTEST_SKIP() << "in the long form";
  }
};
INSTANTIATE_TEST_SUITE_P(Machines, SeveralStreams,
                         testing::Values("beluga", "narval", "mist", "h200x4", "dgx-a100"),
                         [](const auto& of) { return of.param.substr(0, of.param.find('-')); });

// All share every path in proportion, so that they gain what one gains; but what a host's memory
// carries more at first is there once, whether for one copy or for three.
TEST_P(SeveralStreams, OfOneWayGainAsMuchAsOne) {
  for (const Route& way : {Route{"gpu0", "gpu1"}, Route{"host0", "gpu0"}, Route{"gpu0", "host0"}})
    EXPECT_GT(speedup(GetParam(), {way, way, way}), 0.94 * speedup(GetParam(), {way}))
        << way.first << " to " << way.second;
}

// The first transfer cannot know that others follow: it alone may be in their way.
TEST_P(SeveralStreams, ToOrFromOneGpuLoseNoMoreThanTheFirstTransfer) {
  EXPECT_GT(speedup(GetParam(), kScatter), 1 - 0.5 / kRounds);
  EXPECT_GT(speedup(GetParam(), kGather), 1 - 0.5 / kRounds);
}

// From the second round on it expects them.
TEST_P(SeveralStreams, LoseInTheFirstRoundOnly) {
  EXPECT_GT(speedup(GetParam(), kScatter, Between::waiting), 1 - 0.5 / kRounds);
  EXPECT_GT(speedup(GetParam(), kGather, Between::waiting), 1 - 0.5 / kRounds);
}

TEST_P(SeveralStreams, OfPairsAndRingsLoseNoMoreThanTheFirstTransfer) {
  const double least = 1 - 0.5 / kRounds;
  EXPECT_GT(speedup(GetParam(), {{"gpu0", "gpu1"}, {"gpu2", "gpu3"}}), least);
  EXPECT_GT(speedup(GetParam(), {{"gpu0", "gpu1"}, {"gpu1", "gpu0"}}), least);
  EXPECT_GT(
      speedup(GetParam(), {{"gpu0", "gpu1"}, {"gpu1", "gpu2"}, {"gpu2", "gpu3"}, {"gpu3", "gpu0"}}),
      least);
}

}  // namespace
}  // namespace polypath::test::several_streams_test
