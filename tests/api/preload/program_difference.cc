// What a program did otherwise with Polypath than without.

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "api/preload/program_run.h"

namespace polypath::preload {
namespace {

std::vector<std::string> lines_to_compare(const std::string& output) {
  std::vector<std::string> lines;
  std::istringstream stream(output);
  for (std::string line; std::getline(stream, line);)
    if (!line.starts_with('#')) lines.push_back(line);
  return lines;
}

bool is_as_good(const std::string& plain, const std::string& preloaded) {
  static const std::regex blocked(": blocked$"), number("(.*) ~([0-9]+): ([0-9]+)");
  if (plain == preloaded || std::regex_replace(plain, blocked, ": did not block") == preloaded)
    return true;
  std::smatch before, after;
  return std::regex_match(plain, before, number) && std::regex_match(preloaded, after, number) &&
         before[1] == after[1] &&
         std::stoull(after[3]) + std::stoull(before[2]) >= std::stoull(before[3]);
}

}  // namespace

std::string difference(const ProgramRun& plain, const ProgramRun& preloaded) {
  std::string found;
  if (plain.status != preloaded.status)
    found += fmt::format("status {} instead of {}\n", preloaded.status, plain.status);
  auto before = lines_to_compare(plain.output), after = lines_to_compare(preloaded.output);
  before.resize(std::max(before.size(), after.size()), "(nothing)");
  after.resize(before.size(), "(nothing)");
  for (std::size_t i = 0; i < before.size(); ++i)
    if (!is_as_good(before[i], after[i]))
      found += fmt::format("'{}' instead of '{}'\n", after[i], before[i]);
  return found;
}

}  // namespace polypath::preload
