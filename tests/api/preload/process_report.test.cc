// What processes say of themselves at their end.

#include "api/preload/process_report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace polypath::preload::process_report_test {
namespace {

const ReportedProcess kProcess{
    .number = 77, .rank = "3", .program = "app", .host = "node1", .driver_open = true};

TEST(ProcessReport, HasWhatHappenedAndNothingElse) {
  Tally tally;
  tally.count(Outcome::graphs, 64_MiB);
  tally.count(Outcome::small, 5_B);

  const auto report = nlohmann::json::parse(process_report(kProcess, tally, ""));

  EXPECT_EQ(report["schema"], "polypath.process/1");
  EXPECT_EQ(report["process"], 77);
  EXPECT_EQ(report["rank"], "3");
  ASSERT_EQ(report["outcomes"].size(), 2U);
  EXPECT_EQ(report["outcomes"][0]["accelerated"], true);
  EXPECT_EQ(report["outcomes"][0]["bytes"], 67108864);
  EXPECT_EQ(report["outcomes"][1]["accelerated"], false);
  EXPECT_EQ(report["outcomes"][1]["calls"], 1);
}

TEST(ProcessReport, NamesMayHaveAnyBytes) {
  ReportedProcess odd = kProcess;
  odd.rank.clear(), odd.program = "\xff\"\n";

  const auto report = nlohmann::json::parse(process_report(odd, Tally(), ""));

  EXPECT_TRUE(report["rank"].is_null());
  EXPECT_TRUE(report["outcomes"].empty());
}

TEST(ProcessReport, OneLineSaysThatNothingWasCopied) {
  ReportedProcess without = kProcess;
  without.driver_open = false;

  EXPECT_EQ(unused_line(without),
            "polypath: process 77, rank 3 (app): loaded, 0 copies, no driver\n");
}

TEST(ProcessReport, TheTableNamesTheRank) {
  EXPECT_THAT(Tally().table(77, "", "3"),
              testing::StartsWith("polypath: copies of process 77, rank 3: calls, bytes\n"));
}

}  // namespace
}  // namespace polypath::preload::process_report_test
