#include "machine/load_machine.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "machine/zoo.h"

namespace polypath::machine {
namespace {

constexpr std::string_view kSynthetic = "synthetic:";
// One byte more than a machine file may have, so that the reader sees that it is too long.
constexpr std::size_t kMostBytes = (std::size_t{4} << 20) + 1;

Machine load_synthetic(std::string_view name) {
  const std::string_view digits = name.substr(kSynthetic.size());
  const char* end = digits.data() + digits.size();
  std::uint64_t seed = 0;
  const auto [rest, error] = std::from_chars(digits.data(), end, seed);
  if (error != std::errc{} || rest != end)
    fail(ErrorCode::invalid_argument, fmt::format("machine '{}' has no seed", name),
         "a synthetic machine is made from a whole number", "Write for example synthetic:7.");
  return synthetic_machine(seed);
}

}  // namespace

std::string read_machine_file(const std::string& path) {
  const std::string why_not = why_unreadable(path);
  auto text = why_not.empty() ? read_file(path, kMostBytes) : std::nullopt;
  if (!text)
    fail(ErrorCode::invalid_argument, fmt::format("machine file '{}' cannot be read", path),
         why_not.empty() ? "this user may not read it" : why_not, "Check the path.");
  return *std::move(text);
}

std::vector<std::string> zoo_names() {
  std::vector<std::string> names;
  for (const ZooFile& file : zoo_files()) names.emplace_back(file.name);
  return names;
}

Machine load_machine(std::string_view name) {
  for (const ZooFile& file : zoo_files())
    if (file.name == name) return parse_machine(file.json, fmt::format("machines/{}.json", name));
  if (name.starts_with(kSynthetic)) return load_synthetic(name);
  if (name.find('/') != std::string_view::npos || name.ends_with(".json"))
    return parse_machine(read_machine_file(std::string(name)), name);
  fail(ErrorCode::invalid_argument, fmt::format("machine '{}' is unknown", name),
       fmt::format("the zoo has {}", join(zoo_names(), ", ")),
       "Name one of them, synthetic:SEED, or a file such as ./mine.json.");
}

}  // namespace polypath::machine
