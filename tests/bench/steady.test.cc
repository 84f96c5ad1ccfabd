// What is measured is what repeats: nothing that happens only once counts.

#include <gtest/gtest.h>

#include "bench/figures.h"
#include "bench/steadiness.h"

namespace polypath::bench::steady_test {
namespace {

struct Repeated {
  const char* machine;
  const char* operation;
  Bytes bytes;
  int window = 1;
};

void PrintTo(const Repeated& repeated, std::ostream* out) {
  *out << fmt::format("{} {} {} window {}", repeated.machine, repeated.operation,
                      describe_bytes(repeated.bytes), repeated.window);
}

class Steady : public testing::TestWithParam<Repeated> {
 protected:
  static constexpr int kManyRuns = 50;

  // The time of one run after many others.
  static Seconds much_later() {
    const Machine machine = load_machine(GetParam().machine);
    const Operation operation = find_operation(
        machine, GetParam().operation, machine.find_place("gpu0"), machine.find_place("gpu1"));
    OperationRun operation_run(simulate(machine, {}, sim::kTimingOnly), operation,
                               GetParam().bytes);
    for (int i = 0; i < kManyRuns; ++i) operation_run.run({}, GetParam().window);
    return operation_run.run({}, GetParam().window);
  }
};

TEST_P(Steady, TheMeasuredTimeIsThatOfARunMuchLater) {
  const auto [machine, operation, bytes, window] = GetParam();

  const Result result =
      answer({machine, operation, "gpu0", "gpu1", {}, std::nullopt, window}, bytes);

  EXPECT_NEAR(result.seconds / much_later(), 1, 1e-6);
}

// On the DGX A100 the lanes' graphs are instantiated in two runs that take equally long.
INSTANTIATE_TEST_SUITE_P(Operations, Steady,
                         testing::Values(Repeated{"dgx-a100", "mbw", 512_MiB},
                                         Repeated{"dgx-a100", "bibw", 512_MiB},
                                         Repeated{"h200x4", "mbw", 256_MiB},
                                         Repeated{"beluga", "mbw", 64_MiB, 16},
                                         Repeated{"narval", "put", 64_MiB}));

class SteadinessOf : public testing::Test {
 protected:
  using Run = Steadiness::Run;
  static constexpr int kEnough = 3;

  // How many of these runs are made until they count as steady; 0: all, and they do not.
  static int runs_until_steady(const std::vector<Run>& runs) {
    Steadiness steadiness(kEnough);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      steadiness.note(runs[i]);
      if (steadiness.reached()) return static_cast<int>(i + 1);
    }
    return 0;
  }

  CopyResult native_{.executor = Executor::native};
  CopyResult stream_{.executor = Executor::stream, .means = Method::paths};
  Run plain_{1_us, 0, {native_}};
};

TEST_F(SteadinessOf, EqualRunsAreSteadyWhenThereAreEnough) {
  EXPECT_EQ(runs_until_steady(std::vector<Run>(kEnough, plain_)), 0);
  EXPECT_EQ(runs_until_steady(std::vector<Run>(kEnough + 1, plain_)), kEnough + 1);
}

TEST_F(SteadinessOf, AnInstantiationStartsTheCountAnew) {
  const Run later{1_us, 1, {native_}};

  EXPECT_EQ(runs_until_steady({plain_, plain_, plain_, later, later, later, later}), 7);
}

TEST_F(SteadinessOf, AnotherTimeStartsTheCountAnew) {
  const Run slower{2_us, 0, {native_}};

  EXPECT_EQ(runs_until_steady({plain_, plain_, plain_, slower, slower, slower, slower}), 7);
}

TEST_F(SteadinessOf, AnotherExecutorStartsTheCountAnew) {
  const Run by_streams{1_us, 0, {stream_}};

  EXPECT_EQ(
      runs_until_steady({plain_, plain_, plain_, by_streams, by_streams, by_streams, by_streams}),
      7);
}

}  // namespace
}  // namespace polypath::bench::steady_test
