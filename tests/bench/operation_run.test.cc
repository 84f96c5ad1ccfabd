// What an operation run runs beside the engine's copies.

#include "bench/operation_run.h"

#include <gtest/gtest.h>

#include "machine/load_machine.h"

namespace polypath::bench::operation_run_test {
namespace {

class SessionOn : public testing::TestWithParam<const char*> {
 protected:
  Machine machine_ = load_machine(GetParam());
  Lane lane_{machine_.find_place("gpu0"), machine_.find_place("gpu1")};
};

// Simulated, the engine's own work takes no time: its native copies take what the driver's do.
TEST_P(SessionOn, TheDriversCopiesTakeWhatNativeOnesTake) {
  OperationRun operation_run(simulate(machine_, {}, sim::kTimingOnly), {"bw", {lane_}, false},
                             8_MiB);
  PlanOptions native;
  native.executor = Executor::native;

  const Seconds by_driver = operation_run.run_driver(3);
  const Seconds by_engine = operation_run.run(native, 3);

  EXPECT_NEAR(by_driver.value, by_engine.value, 1e-12);
}

TEST_P(SessionOn, TheDriversCopiesMoveEveryByte) {
  OperationRun operation_run(simulate(machine_, {}), {"put", {lane_}, false}, 1_MiB);
  operation_run.fill();
  const bool before = operation_run.verify();

  operation_run.run_driver(1);

  EXPECT_FALSE(before);
  EXPECT_TRUE(operation_run.verify());
}

INSTANTIATE_TEST_SUITE_P(Machines, SessionOn, testing::Values("beluga", "h200x4"));

}  // namespace
}  // namespace polypath::bench::operation_run_test
