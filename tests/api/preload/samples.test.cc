// Samples of a measurement, each of which the program waits for, are alike: copies that are over
// have not met those that come next, however long they were predicted to take.

#include <filesystem>
#include <fstream>

#include "api/preload/programs_over_standin.h"
#include "machine/load_machine.h"

namespace polypath::preload::samples_test {
namespace {

constexpr std::uint64_t kGpus = 2, kSamples = 3, kCopies = 20;

// Copies there are predicted to take many times as long as the stand-in driver does by real time.
Machine slow_machine() {
  Machine machine = load_machine("h200x4");
  for (Hop& hop : machine.hops)
    if (machine.place(hop.source).kind == PlaceKind::host ||
        machine.place(hop.destination).kind == PlaceKind::host)
      hop.bandwidth = {0.2e9};
  return machine;
}

class Samples : public Programs {
 protected:
  void SetUp() override {
    Programs::SetUp();
    std::ofstream(file_) << machine_to_json(slow_machine());
  }
  void TearDown() override { std::filesystem::remove(file_); }

  static ProgramRun run(const std::string& option, const std::string& machine, const char* learn) {
    ProgramRun run = run_program(
        {"samples", option},
        {{"STANDIN_CHAOS", "1"}, {"STANDIN_MACHINE", machine}, {"POLYPATH_LEARN", learn}});
    EXPECT_EQ(run.status, 0) << run.errors;
    return run;
  }
  // The calls that took several paths. Copies are not compared with native ones.
  [[nodiscard]] std::uint64_t accelerated(const std::string& option) const {
    return run(option, file_, "0").calls(kAccelerated);
  }

  std::string file_ =
      testing::TempDir() + "polypath_slow_machine_" + std::to_string(getpid()) + ".json";
};

// With the small copy before each, but for the first: it is too small to start Polypath.
constexpr std::uint64_t kAll = kGpus * kSamples * (kCopies + 1) - 1;

TEST_F(Samples, ThatAreWaitedForByTheStreamTakeSeveralPaths) {
  EXPECT_EQ(accelerated("wait=stream"), kAll);
}

TEST_F(Samples, ThatAreWaitedForByAQueryTakeSeveralPaths) {
  EXPECT_EQ(accelerated("wait=query"), kAll);
}

TEST_F(Samples, ThatAreWaitedForByTheContextTakeSeveralPaths) {
  EXPECT_EQ(accelerated("wait=context"), kAll);
}

// Where both really are in flight at once, they are planned together: natively here.
TEST_F(Samples, BesideOtherCopiesArePlannedWithThese) {
  EXPECT_LT(accelerated("meanwhile=1"), kAll / 2);
}

// The stand-in driver takes longer there than predicted. What is held cannot be timed natively, so
// nothing is tried.
TEST_F(Samples, ThatAreHeldAreNotTriedNatively) {
  const ProgramRun held = run("wait=stream", "h200x4", "1");

  EXPECT_EQ(held.calls(text_of(Outcome::native)), 0U);
  EXPECT_GT(held.calls(kAccelerated), 0U);
}

}  // namespace
}  // namespace polypath::preload::samples_test
