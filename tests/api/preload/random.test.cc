// Random programs (programs/random.cc) on the stand-in driver: the same results of all calls and
// the same bytes with Polypath as without, and every byte right. docs/testing.md says how to run
// thousands.

#include <gmock/gmock.h>

#include "api/preload/program_run.h"
#include "support/effort.h"

namespace polypath::preload::random_test {
namespace {

// Polypath takes also what is smaller than a megabyte, so that it has enough to do.
Variables variables() {
  return {{"STANDIN_MACHINE", "beluga"},
          {"POLYPATH_MIN_MESSAGE", "256K"},
          {"POLYPATH_PAGEABLE_MIN", "256K"}};
}

class RandomPrograms : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (standin_folder().empty()) GTEST_SKIP() << "the stand-in driver has not been built";
    if (GetParam() > test::short_or_long(8, 24)) GTEST_SKIP() << "in the long form";
  }

  [[nodiscard]] static std::vector<std::string> command() {
    return {"random", std::to_string(GetParam()), "bytes=4M"};
  }

  static void compare(Variables variables) {
    const ProgramRun plain = run_plain(command(), variables);
    ASSERT_EQ(plain.status, 0) << plain.output << plain.errors;

    // Both values with every other seed: one run takes about a second.
    variables["POLYPATH_PREPARE"] = GetParam() % 2 == 0 ? "now" : "background";
    variables["POLYPATH_PREPARE_AFTER"] = "0";
    const ProgramRun preloaded = run_program(command(), variables);

    EXPECT_EQ(difference(plain, preloaded), "") << preloaded.output << preloaded.errors;
  }
};

TEST_P(RandomPrograms, AreTheSameInVirtualTime) { compare(variables()); }

TEST_P(RandomPrograms, AreTheSameInChaos) {
  Variables chaos = variables();
  chaos["STANDIN_CHAOS"] = std::to_string(GetParam());

  compare(chaos);
}

INSTANTIATE_TEST_SUITE_P(OverTheStandIn, RandomPrograms, testing::Range(1, 25));

// Small enough to be counted: most copies of such a program are of the kinds that Polypath takes.
TEST(RandomProgramsAlone, GivePolypathMuchToDo) {
  if (standin_folder().empty()) GTEST_SKIP() << "the stand-in driver has not been built";

  const ProgramRun run = run_program({"random", "1", "bytes=4M"}, variables());

  EXPECT_GT(run.calls("accelerated"), 20U) << run.errors;
}

}  // namespace
}  // namespace polypath::preload::random_test
