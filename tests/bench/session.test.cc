// What a session runs beside the engine's copies.

#include "bench/session.h"

#include <gtest/gtest.h>

#include "machine/library.h"

namespace polypath::bench {
namespace {

class SessionOn : public testing::TestWithParam<const char*> {
 protected:
  Machine machine_ = load_machine(GetParam());
  Lane lane_{machine_.find_place("gpu0"), machine_.find_place("gpu1")};
};

// Simulated, the engine's own work takes no time: its native copies take what the driver's do.
TEST_P(SessionOn, TheDriversCopiesTakeWhatNativeOnesTake) {
  Session session(simulate(machine_, {}, sim::kTimingOnly), {"bw", {lane_}, false}, 8_MiB);
  PlanOptions native;
  native.executor = ExecutorChoice::native;

  const Seconds by_driver = session.run_driver(3);
  const Seconds by_engine = session.run(native, 3);

  EXPECT_NEAR(by_driver.value, by_engine.value, 1e-12);
}

TEST_P(SessionOn, TheDriversCopiesMoveEveryByte) {
  Session session(simulate(machine_, {}), {"put", {lane_}, false}, 1_MiB);
  session.fill();
  const bool before = session.verify();

  session.run_driver(1);

  EXPECT_FALSE(before);
  EXPECT_TRUE(session.verify());
}

INSTANTIATE_TEST_SUITE_P(Machines, SessionOn, testing::Values("beluga", "h200x4"));

}  // namespace
}  // namespace polypath::bench
