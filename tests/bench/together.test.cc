// Patterns whose copies are asked for together: measured beside native ones, predicted, verified.

#include <gtest/gtest.h>

#include "bench/measure.h"
#include "machine/load_machine.h"

namespace polypath::bench::together_test {
namespace {

Result measured(const char* machine, const char* pattern, Bytes bytes, const Request& request) {
  const OpenMachine opened = simulate(load_machine(machine), request.settings);
  const auto [source, destination] = opened.machine().find_ends("gpu0", "gpu1");
  const Operation operation = find_operation(opened.machine(), pattern, source, destination);
  return measure(opened, operation, request, bytes);
}

Request timing_only() {
  Request request;
  request.verify = false;
  return request;
}

struct Case {
  const char* machine;
  const char* pattern;
  Bytes bytes;
  double least;
};

class Patterns : public testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(
    Simulated, Patterns,
    testing::Values(Case{"beluga", "ring", 256_MiB, 1.8}, Case{"beluga", "ring", 16_MiB, 1.0},
                    Case{"beluga", "pairs", 256_MiB, 1.8}, Case{"beluga", "fan-out", 64_MiB, 1.0},
                    Case{"beluga", "gather", 64_MiB, 1.0}, Case{"beluga", "alltoall", 64_MiB, 1.0},
                    Case{"h200x8", "alltoall", 16_MiB, 1.0}, Case{"narval", "ring", 256_MiB, 1.7}),
    [](const auto& info) { return "case_" + std::to_string(info.index); });

TEST_P(Patterns, GainAsPredicted) {
  const auto& [machine, pattern, bytes, least] = GetParam();
  SCOPED_TRACE(std::string(machine) + " " + pattern);

  const Result result = measured(machine, pattern, bytes, timing_only());

  constexpr double kRounding = 1e-3;
  EXPECT_GE(result.native_seconds / result.seconds, least - kRounding);
  EXPECT_NEAR(result.predicted / result.seconds, 1, 0.03);
}

TEST(APattern, IsVerified) {
  const Result result = measured("beluga", "ring", 16_MiB, Request{});

  EXPECT_TRUE(result.verified);
  EXPECT_NE(result.executor, Executor::native);
  EXPECT_EQ(result.copies, 4);
}

TEST(APattern, OfAWindowIsVerified) {
  Request request;
  request.window = 3;

  const Result result = measured("beluga", "fan-out", 4_MiB, request);

  EXPECT_TRUE(result.verified);
  EXPECT_EQ(result.copies, 9);
}

TEST(APattern, BesideTheDriversOwnCopiesTakesWhatNativeOnesTake) {
  const Machine machine = load_machine("beluga");
  const Operation ring =
      find_operation(machine, "ring", machine.find_place("gpu0"), machine.find_place("gpu1"));
  OperationRun operation_run(simulate(machine, {}, sim::kTimingOnly), ring, 8_MiB);
  PlanOptions native;
  native.executor = Executor::native;

  const Seconds by_driver = operation_run.run_driver(2);
  const Seconds by_engine = operation_run.run(native, 2);

  EXPECT_NEAR(by_driver.value, by_engine.value, 1e-12);
}

}  // namespace
}  // namespace polypath::bench::together_test
