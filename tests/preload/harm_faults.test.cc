// Calls of the driver that fail while Polypath uses them: what a program copies with success is
// right, and stays as the program leaves it (programs/harm_faults.cc).

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <regex>
#include <set>

#include "preload/program_run.h"

namespace polypath::preload {
namespace {

// Of the program: it ended early because a call of its own failed.
constexpr int kGaveUp = 3;

Variables usual_variables() {
  return {{"STANDIN_MACHINE", "beluga"},
          {"POLYPATH_MIN_MESSAGE", "512K"},
          {"POLYPATH_PAGEABLE_MIN", "512K"}};
}

std::vector<std::string> command() { return {"harm_faults", "copies", "bytes=2M", "rounds=2"}; }

std::map<std::string, int> uses_in(const ProgramRun& run) {
  std::map<std::string, int> counts;
  const std::regex line("standin\\[[0-9]+\\]: (cu[A-Za-z0-9]+) called ([0-9]+)");
  for (std::sregex_iterator at(run.errors.begin(), run.errors.end(), line), end; at != end; ++at)
    counts[(*at)[1]] = std::stoi((*at)[2]);
  return counts;
}

// Of each function that is used more often with Polypath than without: the first of these uses,
// one in the middle, and the last one, alone or with all that follow.
std::vector<std::string> faults(const Variables& variables) {
  Variables counting = variables;
  counting["STANDIN_STATISTICS"] = "1";
  const auto plain = uses_in(run_plain(command(), counting));
  std::vector<std::string> found;
  for (const auto& [function, count] : uses_in(run_program(command(), counting))) {
    const auto own = plain.find(function);
    if (own != plain.end() && own->second >= count) continue;
    for (const int use : std::set{1, count / 2, count}) {
      if (use == 0) continue;
      found.push_back(fmt::format("{}:{}", function, use));
      if (use < count) found.push_back(fmt::format("{}:{}-", function, use));
    }
  }
  return found;
}

class Faults : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (standin_folder().empty()) GTEST_SKIP() << "the stand-in driver has not been built";
  }
};

TEST_P(Faults, LeaveNoWrongBytes) {
  Variables variables = usual_variables();
  if (GetParam() == std::string("chaos")) variables["STANDIN_CHAOS"] = "1";
  const std::vector<std::string> all = faults(variables);
  ASSERT_GT(all.size(), 50U);

  for (const std::string& fault : all) {
    variables["STANDIN_FAIL"] = fault;
    const ProgramRun run = run_program(command(), variables);

    EXPECT_TRUE(run.status == 0 || run.status == kGaveUp)
        << fault << ": status " << run.status << "\n"
        << run.output << run.errors;
  }
}

INSTANTIATE_TEST_SUITE_P(OverTheStandIn, Faults, testing::Values("virtual_time", "chaos"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace polypath::preload
