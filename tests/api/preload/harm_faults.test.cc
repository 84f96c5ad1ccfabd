// Calls of the driver that fail while Polypath uses them: what a program copies with success is
// right, and stays as the program leaves it (programs/harm_faults.cc).

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <regex>

#include "api/preload/program_run.h"
#include "support/effort.h"

namespace polypath::preload::harm_faults_test {
namespace {

// Of the program: it ended early because a call of its own failed.
constexpr int kGaveUp = 3;

Variables usual_variables() {
  return {{"STANDIN_MACHINE", "beluga"},
          {"POLYPATH_MIN_MESSAGE", "1M"},
          {"POLYPATH_PAGEABLE_MIN", "1M"}};
}

std::vector<std::string> command() { return {"harm_faults", "copies", "bytes=2M", "rounds=2"}; }

std::map<std::string, int> uses_in(const ProgramRun& run) {
  std::map<std::string, int> counts;
  const std::regex line("standin\\[[0-9]+\\]: (cu[A-Za-z0-9]+) called ([0-9]+)");
  for (std::sregex_iterator at(run.errors.begin(), run.errors.end(), line), end; at != end; ++at)
    counts[(*at)[1]] = std::stoi((*at)[2]);
  return counts;
}

using Uses = std::map<std::string, int>;

struct Counts {
  Uses plain, preloaded;
};

Counts count_uses(Variables variables) {
  variables["STANDIN_STATISTICS"] = "1";
  return {uses_in(run_plain(command(), variables)), uses_in(run_program(command(), variables))};
}

// To give back a context fails only where the process ends. Were it to fail elsewhere, the program
// would go on in another one.
bool cannot_fail(const std::string& function) { return function == "cuCtxPopCurrent"; }

std::string one_use(const std::string& function, int use) {
  return fmt::format("{}:{}", function, std::max(1, use));
}
std::string all_later(const std::string& function, int use) { return one_use(function, use) + "-"; }

// Of each function that is used more often with Polypath than without.
std::vector<std::string> single_faults(const Counts& counts, bool few) {
  std::vector<std::string> found;
  for (const auto& [function, count] : counts.preloaded) {
    const auto own = counts.plain.find(function);
    if (cannot_fail(function) || (own != counts.plain.end() && own->second >= count)) continue;
    found.push_back(all_later(function, count / 2));
    if (few) continue;
    found.push_back(one_use(function, 1));
    if (!test::is_long()) continue;
    found.push_back(one_use(function, count));
    found.push_back(one_use(function, count / 2));
    found.push_back(all_later(function, 1));
  }
  return found;
}

// What has been queued by then can neither be completed nor waited for. The program itself waits
// for streams before its copies only.
std::vector<std::string> faults_without_a_way_back(const Counts& counts) {
  const auto own = counts.plain.find("cuStreamSynchronize");
  const int first = own == counts.plain.end() ? 1 : own->second + 1;
  const std::string waits = fmt::format("cuStreamSynchronize:{}-,cuEventSynchronize:1-", first);
  std::vector<std::string> found;
  for (const char* function : {"cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync",
                               "cuStreamWaitEvent", "cuEventRecord"}) {
    const auto all = counts.preloaded.find(function);
    if (all == counts.preloaded.end()) continue;
    for (const int eighth : test::short_or_long<std::vector<int>>({1, 4, 7}, {1, 3, 5, 7}))
      found.push_back(one_use(function, all->second * eighth / 8) + "," + waits);
  }
  return found;
}

class Faults : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (standin_folder().empty()) GTEST_SKIP() << "the stand-in driver has not been built";
  }

  static bool in_chaos() { return GetParam() == std::string("chaos"); }
  static Variables variables() {
    Variables all = usual_variables();
    if (in_chaos()) all["STANDIN_CHAOS"] = "1";
    return all;
  }

  static void expect_no_wrong_bytes(const std::vector<std::string>& faults) {
    for (const std::string& fault : faults) {
      Variables failing = variables();
      failing["STANDIN_FAIL"] = fault;
      const ProgramRun run = run_program(command(), failing);
      EXPECT_TRUE(run.status == 0 || run.status == kGaveUp)
          << fault << ": status " << run.status << "\n"
          << run.output << run.errors;
    }
  }
};

TEST_P(Faults, LeaveNoWrongBytes) {
  const std::vector<std::string> faults = single_faults(count_uses(variables()), in_chaos());
  ASSERT_GT(faults.size(), 20U);

  expect_no_wrong_bytes(faults);
}

TEST_P(Faults, WithoutAWayBackLeaveNoWrongBytes) {
  const std::vector<std::string> faults = faults_without_a_way_back(count_uses(variables()));
  ASSERT_GE(faults.size(), 12U);

  expect_no_wrong_bytes(faults);
}

INSTANTIATE_TEST_SUITE_P(OverTheStandIn, Faults, testing::Values("virtual_time", "chaos"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace polypath::preload::harm_faults_test
