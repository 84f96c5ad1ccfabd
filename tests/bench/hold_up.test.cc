// Threads that issue at the same time hold each other up in the driver: predicted and simulated.

#include <gtest/gtest.h>

#include "bench/figures.h"

namespace polypath::bench::hold_up_test {
namespace {

constexpr Seconds kHoldUp = 5_us;

Result run(const char* operation, Bytes bytes, Seconds hold_up, bool native) {
  Machine machine = load_machine("beluga");
  machine.costs.threads_hold_up = hold_up;
  Request request;
  request.verify = false;
  if (native) request.options.executor = Executor::native;
  const auto [source, destination] = machine.find_ends("gpu0", "gpu1");
  const Operation asked = find_operation(machine, operation, source, destination);
  return measure(simulate(machine, request.settings), asked, request, bytes);
}

// A copy and the wait for it: two calls of each thread.
TEST(HoldUp, IsInNativeCopiesOfTwoThreads) {
  for (const char* operation : {"bibw", "mbw"})
    for (const Bytes bytes : {8_B, 16_MiB}) {
      const Result with = run(operation, bytes, kHoldUp, true);
      const Result without = run(operation, bytes, {}, true);

      EXPECT_NEAR((with.seconds - without.seconds).value, 2 * kHoldUp.value, 1e-12) << operation;
      EXPECT_NEAR((with.predicted - without.predicted).value, 2 * kHoldUp.value, 1e-12);
    }
}

TEST(HoldUp, IsNotInWhatOneThreadIssues) {
  for (const char* operation : {"put", "latency", "ring"}) {
    const Result with = run(operation, 16_MiB, kHoldUp, false);
    const Result without = run(operation, 16_MiB, {}, false);

    EXPECT_EQ(with.seconds, without.seconds) << operation;
    EXPECT_EQ(with.predicted, without.predicted) << operation;
  }
}

// Several paths take more calls; what they are predicted to take is what they take.
TEST(HoldUp, IsInPlansForBothWays) {
  for (const Bytes bytes : {16_MiB, 64_MiB, 256_MiB}) {
    const Result with = run("bibw", bytes, kHoldUp, false);
    const Result without = run("bibw", bytes, {}, false);

    EXPECT_GT(with.seconds, without.seconds) << describe_bytes(bytes);
    EXPECT_LT(error_of(with), 0.03) << describe_bytes(bytes);
    ASSERT_NE(with.plan, nullptr);
    EXPECT_LT(with.plan->predicted, with.plan->native_predicted);
  }
}

}  // namespace
}  // namespace polypath::bench::hold_up_test
