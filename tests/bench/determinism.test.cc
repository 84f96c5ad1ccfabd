// Simulated figures are the same on every run, to the last bit.

#include <gtest/gtest.h>

#include "bench/figures.h"
#include "support/effort.h"

namespace polypath::bench::determinism_test {
namespace {

struct Figures {
  Seconds seconds;
  Seconds native;
  Seconds predicted;
  std::string how;
  auto operator<=>(const Figures&) const = default;
};

Figures figures_of(const Question& question, Bytes bytes) {
  const Result result = answer(question, bytes);
  return {result.seconds, result.native_seconds, result.predicted, describe(result)};
}

TEST(Determinism, TheSameMeasurementGivesTheSameFigures) {
  for (const std::string& machine : zoo_names()) {
    if (test::is_left_out(machine, {"dgx-a100", "h200x8", "narval", "nop2p4"})) continue;
    for (const char* operation : {"put", "bibw", "latency", "mbw"})
      for (const Bytes bytes : {1_MiB, 64_MiB}) {
        const Question question{machine, operation};

        EXPECT_EQ(figures_of(question, bytes), figures_of(question, bytes))
            << machine << " " << operation;
      }
  }
}

// t = 6.0 us copy call + 3.3 us latency + 67108864 B / 47.9 GB/s + 1.4 us synchronise = 1411.72 us.
TEST(Determinism, ANativeCopyTakesWhatTheMachineFileSays) {
  const Result put = answer({"beluga", "put", "gpu0", "gpu1", {}, Executor::native}, 64_MiB);

  EXPECT_NEAR(put.seconds.value, 1411.72e-6, 0.01e-6);
  EXPECT_NEAR(put.native_seconds.value, put.seconds.value, 1e-12);  // later on the same clock
}

}  // namespace
}  // namespace polypath::bench::determinism_test
