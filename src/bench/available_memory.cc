#include "bench/available_memory.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>

#include "core/files.h"

namespace polypath::bench {
namespace {

constexpr Bytes kNoBound{std::numeric_limits<std::uint64_t>::max()};

std::string content_of(const char* path) { return read_file(path, 65536).value_or(""); }

// The number that a text begins with, after blanks; a text without a number, like "max", is no
// bound.
Bytes number_in(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return end.ec == std::errc() ? Bytes{number} : kNoBound;
}

// In KiB there.
Bytes of_system(std::string_view field) {
  const std::string text = content_of("/proc/meminfo");
  const std::size_t at = text.find(field);
  if (at == std::string::npos) return kNoBound;
  const Bytes number = number_in(std::string_view(text).substr(at + field.size()));
  return number == kNoBound ? kNoBound : number * 1024;
}

Bytes of_group(const char* file) {
  return number_in(content_of((std::string("/sys/fs/cgroup/") + file).c_str()));
}

}  // namespace

Bytes memory_of_this_computer() { return std::min(of_system("MemTotal:"), of_group("memory.max")); }

Bytes free_memory() {
  const Bytes most = of_group("memory.max"), used = of_group("memory.current");
  const Bytes left = most == kNoBound || used == kNoBound ? kNoBound : most - std::min(used, most);
  return std::min(of_system("MemAvailable:"), left);
}

}  // namespace polypath::bench
