// Polypath as a module of UCX: it sees what UCX's own module does and nothing of the program, which
// may end contexts with everything in them, and UCX its streams.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "api/preload/program_run.h"

namespace polypath::preload::module_test {
namespace {

// And how many of its copies can take several paths, those of a context that has ended left aside.
struct Case {
  const char* name;
  std::uint64_t accelerated;
};

void PrintTo(const Case& shown, std::ostream* out) { *out << shown.name; }

class Module : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (standin_folder().empty()) GTEST_SKIP() << "the stand-in driver has not been built";
  }
};

// With paths through other GPUs and the host, even for small copies; the driver says what it
// refuses.
ProgramRun run_with_module(const std::string& name, const char* module,
                           const std::string& failures = "") {
  return run_program({"ucx", name}, {{"LD_PRELOAD", ""},
                                     {"OPENED_BEFORE", module},
                                     {"UCX_MODULE", POLYPATH_UCX_CUDA},
                                     {"UCX_MODULE_DIR", POLYPATH_UCX_FOLDER},
                                     {"POLYPATH_MIN_GAIN", "0"},
                                     {"STANDIN_FAIL", failures},
                                     {"POLYPATH_LEDGER", "0"},  // other tests are no company
                                     {"STANDIN_LOG", "1"},
                                     {"STANDIN_MACHINE", "beluga"}});
}

// What the driver says of handles that have ended, but for the question what a context is.
std::string uses_of_what_has_ended(const std::string& errors) {
  std::string uses;
  std::istringstream lines(errors);
  for (std::string line; std::getline(lines, line);)
    if (line.find("the handle is none, or no more") != std::string::npos &&
        line.find("cuCtxGetId") == std::string::npos)
      uses += line + "\n";
  return uses;
}

TEST_P(Module, TheProgramIsRightWithoutIt) {
  const ProgramRun run = run_with_module(GetParam().name, "");

  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_EQ(run.output, "right\n");
  EXPECT_EQ(run.calls("accelerated"), 0U) << run.errors;
}

TEST_P(Module, IsRightAndUsesNothingThatHasEnded) {
  const ProgramRun run = run_with_module(GetParam().name, POLYPATH_UCX_MODULE);

  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_EQ(run.output, "right\n");
  EXPECT_GE(run.calls("accelerated"), GetParam().accelerated) << run.errors;
  EXPECT_EQ(uses_of_what_has_ended(run.errors), "") << "on a GPU each would end the process";
}

// It could not see that a context has been reset: drivers before CUDA 12 cannot say.
TEST_P(Module, StaysOutWhereContextsCannotBeToldApart) {
  const ProgramRun run = run_with_module(GetParam().name, POLYPATH_UCX_MODULE, "cuCtxGetId:1-");

  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_EQ(run.output, "right\n");
  EXPECT_EQ(run.calls("accelerated"), 0U) << run.errors;
  EXPECT_THAT(run.errors, testing::HasSubstr("a driver for CUDA 12"));
}

INSTANTIATE_TEST_SUITE_P(OverTheStandIn, Module,
                         testing::Values(Case{"streams", 24}, Case{"resetting", 2},
                                         Case{"releasing_all", 2}, Case{"own_contexts", 8},
                                         Case{"unmapping_after_a_reset", 1}),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace polypath::preload::module_test
