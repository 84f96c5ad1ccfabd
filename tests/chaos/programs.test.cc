// Programs that look at their own bytes, over the chaotic driver: alone first, so that it is the
// driver that is right, and then under Polypath.

#include <gtest/gtest.h>

#include "api/preload/program_run.h"
#include "support/layers.h"

namespace polypath::test::programs_test {
namespace {

using preload::ProgramRun;

struct Case {
  const char* program;
  const char* name;
};

constexpr Case kCases[] = {
    {"copies", "legacy_stream"},
    {"copies", "legacy_stream_of_two"},
    {"copies", "per_thread_stream"},
    {"copies", "host_blocking"},
    {"copies", "host_async"},
    {"copies", "in_order"},
    {"copies", "threads"},
    {"copies", "resetting"},
    {"copies", "copying_at_exit"},
    {"ipc", "getting"},
    {"ipc", "putting"},
    {"ipc", "twice"},
};

class ChaosPrograms : public testing::TestWithParam<std::tuple<Case, int>> {
 protected:
  static ProgramRun run(const std::string& preload) {
    const auto& [of, seed] = GetParam();
    return preload::run_program({of.program, of.name},
                                {{"STANDIN_CHAOS", std::to_string(seed)}, {"LD_PRELOAD", preload}});
  }
};

std::string name_of(const testing::TestParamInfo<std::tuple<Case, int>>& info) {
  const auto& [of, seed] = info.param;
  return std::string(of.program) + "_" + of.name + "_" + std::to_string(seed);
}

class ChaosProgramsAlone : public ChaosPrograms {};

TEST_P(ChaosProgramsAlone, AreRight) {
  const ProgramRun alone = run("");

  EXPECT_EQ(alone.status, 0) << alone.errors;
  EXPECT_EQ(alone.errors, "");
}

INSTANTIATE_TEST_SUITE_P(Over, ChaosProgramsAlone,
                         testing::Combine(testing::ValuesIn(kCases), testing::Values(1)), name_of);

class ChaosProgramsUnderPolypath : public ChaosPrograms {};

TEST_P(ChaosProgramsUnderPolypath, AreRightToo) {
  if (preload::preload_path().empty()) GTEST_SKIP() << "the preload library has not been built";

  const ProgramRun under = run(preload::preload_path());

  EXPECT_EQ(under.status, 0) << under.errors;
}

INSTANTIATE_TEST_SUITE_P(Over, ChaosProgramsUnderPolypath,
                         testing::Combine(testing::ValuesIn(kCases), testing::Values(2)), name_of);

}  // namespace
}  // namespace polypath::test::programs_test
