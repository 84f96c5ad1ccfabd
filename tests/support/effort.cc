#include "support/effort.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "support/layers.h"

namespace polypath::test {

bool is_long() {
  const char* value = std::getenv("TESTS_LONG");
  return value != nullptr && std::string_view(value) == "1";
}

bool is_left_out(std::string_view name, std::initializer_list<std::string_view> longest) {
  return !is_long() && std::find(longest.begin(), longest.end(), name) != longest.end();
}

std::vector<std::uint64_t> seeds(std::uint64_t count, std::uint64_t brief) {
  if (const char* one = std::getenv("TESTS_SEED")) return {std::stoull(one)};
  const std::uint64_t chosen = short_or_long(brief, count);
  std::vector<std::uint64_t> result;
  for (std::uint64_t k = 0; k < chosen; ++k) result.push_back(k * count / chosen);
  return result;
}

}  // namespace polypath::test
