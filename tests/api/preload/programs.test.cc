// Programs that know nothing of Polypath, under the preload library and over the stand-in driver:
// every byte is right (the programs look), no access races (the stand-in looks), and what can go
// over several paths does.

#include <gmock/gmock.h>

#include <cstdio>

#include "api/preload/programs_over_standin.h"

namespace polypath::preload::programs_test {
namespace {

// What a program's copies come to.
struct Case {
  const char* name;
  std::uint64_t accelerated;
  Outcome otherwise = Outcome::small;
  std::uint64_t others = 0;
};

void PrintTo(const Case& shown, std::ostream* out) { *out << shown.name; }

class Copies : public Programs, public testing::WithParamInterface<Case> {};

TEST_P(Copies, AreRightAndTakeSeveralPathsWhereTheyCan) {
  const Case& expected = GetParam();

  const ProgramRun plain = run_plain({"copies", expected.name});
  // Other tests that run meanwhile would leave less room on further paths.
  const ProgramRun preloaded = run_program({"copies", expected.name}, {{"POLYPATH_LEDGER", "0"}});

  ASSERT_EQ(plain.status, 0) << plain.errors;
  EXPECT_EQ(plain.errors, "");
  ASSERT_EQ(preloaded.status, 0) << preloaded.errors;
  EXPECT_EQ(preloaded.output, plain.output);
  EXPECT_EQ(preloaded.calls(kAccelerated), expected.accelerated) << preloaded.errors;
  if (expected.others > 0)
    EXPECT_EQ(preloaded.calls(text_of(expected.otherwise)), expected.others) << preloaded.errors;
}

INSTANTIATE_TEST_SUITE_P(
    OverTheStandIn, Copies,
    testing::Values(Case{"async", 1}, Case{"of_any_kind", 1}, Case{"peer", 1},
                    Case{"legacy_stream", 1}, Case{"per_thread_stream", 1}, Case{"blocking", 1},
                    Case{"host_blocking", 4, Outcome::windows, 2}, Case{"host_async", 2},
                    Case{"in_order", 10, Outcome::same_memory, 20}, Case{"small_only", 0},
                    Case{"no_more_contexts", 1}, Case{"capturing", 1, Outcome::capturing, 1},
                    Case{"own_context", 0, Outcome::other_context, 1},
                    Case{"memory_of_own_context", 0, Outcome::other_context, 1},
                    Case{"beyond_the_end", 0, Outcome::unknown_memory, 1},
                    Case{"managed", 0, Outcome::managed, 1}, Case{"forking", 2},
                    Case{"forking_first", 1}, Case{"copying_at_exit", 2},
                    Case{"copying_in_destructors", 2}, Case{"resetting", 1},
                    Case{"resetting_first", 1}, Case{"batch", 3},
                    Case{"batch_of_small", 0, Outcome::form, 1},
                    Case{"batch_read_at_once", 0, Outcome::form, 1},
                    Case{"batch_of_several_ways", 0, Outcome::form, 1}, Case{"by_dlsym", 1},
                    Case{"by_request", 1}, Case{"other_lookups", 0}),
    [](const auto& of) { return std::string(of.param.name); });

// Weights are read into one pinned block between the copies, which therefore come alone.
TEST_F(Programs, LoadsThatReadBetweenCopiesTakeSeveralPathsAndAreRight) {
  const std::vector<std::string> command = {"loads", "33554432", "16777216", "4"};

  const ProgramRun plain = run_plain(command);
  const ProgramRun preloaded = run_program(command, {{"POLYPATH_LEDGER", "0"}});
  const ProgramRun natively = run_program(command, {{"POLYPATH_EXECUTOR", "native"}});

  EXPECT_EQ(plain.status, 0) << plain.errors;
  EXPECT_EQ(preloaded.status, 0) << preloaded.errors;
  EXPECT_GE(preloaded.calls(kAccelerated), 6U) << preloaded.errors;
  EXPECT_EQ(natively.status, 0) << natively.errors;
  EXPECT_EQ(natively.calls(kAccelerated), 0U) << natively.errors;
}

bool has_started(const ProgramRun& run) {
  return run.errors.find("has not been calibrated") != std::string::npos;
}

// To look at the computer holds up allocations. On a busy computer the program may be stopped for
// so long between two of them that Polypath starts rightly: then it is asked again.
class WhileAllocating : public Programs {
 protected:
  // Runs a program that allocates and copies until a run is not stopped for long. False if none is.
  bool run_from(const std::string& memory) {
    constexpr int kTries = 5, kStarts = 50;  // in milliseconds: Engine's kStillAllocates
    int longest_pause = kStarts;
    for (int i = 0; i < kTries && longest_pause >= kStarts / 2; ++i) {
      run_ = run_program({"harm_memory", "state_dict", "bytes=4M", "from=" + memory},
                         {{"POLYPATH_PREPARE", "background"},
                          {"POLYPATH_LOG", "info"},
                          {"POLYPATH_COPY_THREADS", "3"},
                          {"POLYPATH_MIN_MESSAGE", "1M"}});
      EXPECT_EQ(run_.status, 0) << run_.errors;
      EXPECT_EQ(std::sscanf(run_.output.c_str(), "# longest pause: %d", &longest_pause), 1);
    }
    return longest_pause < kStarts / 2;
  }

  ProgramRun run_;
};

TEST_F(WhileAllocating, NothingStarts) {
  if (!run_from("pinned")) GTEST_SKIP() << "the computer is too busy for this test";

  EXPECT_GT(run_.calls(text_of(Outcome::preparing)), 0U) << run_.errors;
  EXPECT_FALSE(has_started(run_)) << run_.errors;
}

TEST_F(WhileAllocating, CopiesOfPageableMemoryStartItAllTheSame) {
  if (!run_from("pageable")) GTEST_SKIP() << "the computer is too busy for this test";

  EXPECT_TRUE(has_started(run_)) << run_.errors;
}

TEST_F(Programs, ThatMayNotPrepareCopyNatively) {
  const ProgramRun run = run_program({"harm_memory", "one_allocation", "bytes=256M"},
                                     {{"POLYPATH_PREPARE", "never"}, {"POLYPATH_LOG", "info"}});

  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_FALSE(has_started(run)) << run.errors;
  EXPECT_EQ(run.calls(kAccelerated), 0U);
}

// The first copies come before Polypath, which starts when the program has not allocated for a
// while: they count, and the few that come later would not be enough.
TEST_F(Programs, CopiesThatComeBeforePolypathTellWhatToPrepare) {
  const ProgramRun run =
      run_program({"copies", "many_then_few"}, {{"POLYPATH_PREPARE", "background"},
                                                {"POLYPATH_PREPARE_AFTER", "3000"},
                                                {"POLYPATH_LEDGER", "0"}});

  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_GT(run.calls(kAccelerated), 0U) << run.errors;
}

// What has much memory copies much.
TEST_F(Programs, StartWithALargeAllocation) {
  const auto run_with = [](const std::string& bytes) {
    return run_program({"harm_memory", "one_allocation", "bytes=" + bytes},
                       {{"POLYPATH_LOG", "info"}});
  };

  const ProgramRun smaller = run_with("255M"), larger = run_with("256M");

  EXPECT_EQ(smaller.status, 0) << smaller.errors;
  EXPECT_FALSE(has_started(smaller)) << smaller.errors;
  EXPECT_EQ(larger.status, 0) << larger.errors;
  EXPECT_TRUE(has_started(larger)) << larger.errors;
}

// Which thread starts Polypath, how many copies of others pass meanwhile, which ones find no
// streams of their own, and for which ones the others leave no room on further paths, is a matter
// of luck.
TEST_F(Programs, SeveralThreadsCopyAtOnce) {
  const ProgramRun run = run_program({"copies", "threads"});

  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_GT(run.calls(kAccelerated), 0U);
  std::uint64_t native = 0;
  for (const Outcome why : {Outcome::preparing, Outcome::pending, Outcome::in_use, Outcome::native})
    native += run.calls(text_of(why));
  EXPECT_EQ(run.calls(kAccelerated) + native, 20U) << run.errors;
}

// The stand-in itself does not order the default streams of two GPUs, as CUDA does.
TEST_F(Programs, TheLegacyStreamIsOrderedWithBothGpus) {
  const ProgramRun run = run_program({"copies", "legacy_stream_of_two"});

  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_EQ(run.calls(kAccelerated), 3U) << run.errors;
}

// A child that fork has made says nothing at its end.
TEST_F(Programs, OneTablePerProcess) {
  const ProgramRun run = run_program({"copies", "forking"});

  std::size_t tables = 0;
  for (std::size_t at = 0; (at = run.errors.find("copies of process", at)) != std::string::npos;
       ++at)
    ++tables;
  EXPECT_EQ(tables, 1U) << run.errors;
}

TEST_F(Programs, ABadSettingIsSaidOnceAndEverythingPasses) {
  const ProgramRun run = run_program({"copies", "in_order"}, {{"POLYPATH_MIN_MESSAGE", "many"}});

  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_EQ(run.calls(kAccelerated), 0U);
  EXPECT_THAT(run.errors, testing::StartsWith("polypath: POLYPATH_MIN_MESSAGE='many' cannot be "));
  EXPECT_EQ(run.errors.find('\n'), run.errors.size() - 1) << run.errors;
}

TEST_F(Programs, AnUnknownSettingIsSaidToo) {
  const ProgramRun run = run_program({"copies", "async"}, {{"POLYPATH_MIN_MESAGE", "2M"}});

  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.errors, testing::StartsWith("polypath: POLYPATH_MIN_MESAGE is not a setting"));
}

TEST_F(Programs, AMachineToSimulateIsNoMachineToCopyOn) {
  const ProgramRun run = run_program({"copies", "async"}, {{"POLYPATH_MACHINE", "beluga"}});

  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.errors, testing::HasSubstr("POLYPATH_MACHINE=beluga cannot be used here"));
  EXPECT_EQ(run.calls(kAccelerated), 0U);
  EXPECT_GE(run.calls(text_of(Outcome::off)), 1U) << run.errors;
}

TEST_F(Programs, SettingsSayWhatIsWorthIt) {
  EXPECT_EQ(run_program({"copies", "async"}, {{"POLYPATH_MIN_MESSAGE", "1G"}}).calls(kAccelerated),
            0U);
  EXPECT_EQ(run_program({"copies", "async"}, {{"POLYPATH_EXECUTOR", "native"}})
                .calls(text_of(Outcome::native)),
            1U);
}

TEST_F(Programs, SayNothingWithoutBeingAsked) {
  const ProgramRun run = run_program({"copies", "async"}, {{"POLYPATH_STATS", "0"}});

  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.errors, "");
}

}  // namespace
}  // namespace polypath::preload::programs_test
