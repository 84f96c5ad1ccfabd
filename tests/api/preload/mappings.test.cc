// Programs of which one maps the other's memory, under the preload library and over the stand-in
// driver: which of their copies take several paths, and whose memory is left alone.

#include "api/preload/programs_over_standin.h"

namespace polypath::preload::mappings_test {
namespace {

// How the memory of another process is reached.
struct Setting {
  const char* name;
  const char* machine;
  const char* executor;
  const char* paths = "";  ///< those that are named are taken by reads, too
};

// Through the host only, and through other GPUs as well: their contexts need mappings of their own.
constexpr Setting kSettings[] = {{"ByTheHost", "h200x4", "stream", "direct,host0"},
                                 {"ByGpus", "beluga", "stream"},
                                 {"ByAGraph", "beluga", "graph"}};

class Mappings : public Programs,
                 public testing::WithParamInterface<std::tuple<const char*, Setting>> {};

TEST_P(Mappings, AreRightAndTakeSeveralPaths) {
  const auto& [name, setting] = GetParam();

  const ProgramRun run = run_program({"ipc", name}, {{"STANDIN_MACHINE", setting.machine},
                                                     {"POLYPATH_PATHS", setting.paths},
                                                     {"POLYPATH_EXECUTOR", setting.executor}});

  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_GE(run.calls(kAccelerated), 2U) << run.errors;
  EXPECT_EQ(run.calls(text_of(Outcome::owner_unknown)), 0U) << run.errors;
  EXPECT_EQ(run.calls(text_of(Outcome::unmappable)), 0U) << run.errors;
  EXPECT_EQ(run.calls(text_of(Outcome::failed)), 0U) << run.errors;
}

INSTANTIATE_TEST_SUITE_P(
    OverTheStandIn, Mappings,
    testing::Combine(testing::Values("getting", "putting", "often", "again_and_again",
                                     "taking_turns", "twice", "in_two_contexts"),
                     testing::ValuesIn(kSettings)),
    [](const auto& of) { return std::string(std::get<0>(of.param)) + std::get<1>(of.param).name; });

// By the host they take longer.
TEST_F(Programs, ReadsOfAPeerBehindASwitchAreNative) {
  const ProgramRun run = run_program({"ipc", "getting"}, {{"STANDIN_MACHINE", "h200x4"}});

  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_EQ(run.calls(kAccelerated), 0U) << run.errors;
  EXPECT_GE(run.calls(text_of(Outcome::reads_peer)), 2U) << run.errors;
}

TEST_F(Programs, MemoryOfAnExporterWithoutPolypathIsLeftAlone) {
  const ProgramRun run =
      run_program({"ipc", "getting"}, {{"LD_PRELOAD", ""}, {"IMPORTER_PRELOAD", preload_path()}});

  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_EQ(run.calls(kAccelerated), 0U);
  EXPECT_EQ(run.calls(text_of(Outcome::owner_unknown)), 2U) << run.errors;
}

TEST_F(Programs, MemoryOfAHiddenGpuIsLeftAlone) {
  const ProgramRun run = run_program({"ipc", "getting"}, {{"IMPORTER_VISIBLE", "2,3"}});

  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_EQ(run.calls(kAccelerated), 0U);
  EXPECT_EQ(run.calls(text_of(Outcome::owner_hidden)), 2U) << run.errors;
}

// GPUs have other numbers in a process that sees fewer of them, or sees them in another order.
TEST_F(Programs, GpusAreFoundWhateverTheirNumbers) {
  const ProgramRun run = run_program({"ipc", "putting"}, {{"IMPORTER_VISIBLE", "3,2,0"}});

  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_EQ(run.calls(kAccelerated), 2U) << run.errors;
}

// The exporter has been killed: the mapping that the program has is good, a further one might not
// be.
TEST_F(Programs, MemoryOfADeadExporterIsLeftAlone) {
  const ProgramRun run = run_program({"ipc", "orphaned"}, {{"POLYPATH_PATHS", "direct,host0"}});

  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_EQ(run.output, "right\n");
  EXPECT_EQ(run.calls(kAccelerated), 0U);
  EXPECT_EQ(run.calls(text_of(Outcome::unmappable)), 1U) << run.errors;
}

}  // namespace
}  // namespace polypath::preload::mappings_test
