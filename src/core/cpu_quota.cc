#include "core/cpu_quota.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "core/files.h"
#include "core/text.h"

namespace polypath {
namespace {

constexpr std::size_t kMostBytes = 1 << 20, kMostDigits = 64;

// Where a hierarchy of groups is mounted, and which of its groups that shows.
struct Mount {
  std::string group, folder;
};

bool names(const std::string& list, const std::string& name) {
  const std::vector<std::string> all = split(list, ',');
  return std::find(all.begin(), all.end(), name) != all.end();
}

// Blanks and the like are \040 in mountinfo.
std::string without_escapes(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(digits, digits + 3, code, 8).ptr == digits + 3) {
      plain += static_cast<char>(code);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// "36 35 98:0 GROUP FOLDER OPTIONS [more] - TYPE SOURCE OPTIONS"
std::optional<Mount> mount_of(const std::string& mountinfo, bool second_version) {
  for (const std::string& line : split(mountinfo, '\n')) {
    const std::vector<std::string> fields = split(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 6 || fields.end() - dash < 4) continue;
    const bool is_it =
        second_version ? dash[1] == "cgroup2" : dash[1] == "cgroup" && names(dash[3], "cpu");
    if (is_it) return Mount{without_escapes(fields[3]), without_escapes(fields[4])};
  }
  return std::nullopt;
}

// "0::GROUP", or "4:cpu,cpuacct:GROUP"
std::optional<std::string> group_of(const std::string& cgroup, bool second_version) {
  for (const std::string& line : split(cgroup, '\n')) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (second_version ? line.starts_with("0::") : names(controllers, "cpu"))
      return line.substr(second + 1);
  }
  return std::nullopt;
}

std::optional<double> number_in(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && number > 0 ? std::optional(number) : std::nullopt;
}

std::optional<double> quota_in(const std::string& folder, bool second_version) {
  const auto text = [&](const char* file) {
    return read_file(folder + file, kMostDigits).value_or("");
  };
  const std::vector<std::string> parts =
      second_version ? split(text("/cpu.max"), ' ')  // "QUOTA PERIOD", or "max PERIOD"
                     : std::vector{text("/cpu.cfs_quota_us"), text("/cpu.cfs_period_us")};
  if (parts.size() != 2) return std::nullopt;
  const std::optional<double> granted = number_in(parts[0]), each = number_in(parts[1]);
  return granted && each ? std::optional(*granted / *each) : std::nullopt;
}

// The least of the group and those that it is in, as far as they are shown here.
std::optional<double> quota_of(const std::string& root, bool second_version) {
  const auto read = [&](const char* path) {
    return read_file(root + path, kMostBytes).value_or("");
  };
  const auto mount = mount_of(read("/proc/self/mountinfo"), second_version);
  const auto group = group_of(read("/proc/self/cgroup"), second_version);
  if (!mount || !group) return std::nullopt;
  // A container may be shown its own group only, and be told of the whole path or of none.
  const std::string shown = mount->group == "/" ? "" : mount->group;
  const bool is_below = group->starts_with(shown) && group->substr(shown.size()).starts_with('/');
  std::string below = is_below ? group->substr(shown.size()) : "";
  if (below == "/" || below.starts_with("/..")) below = "";
  std::optional<double> least;
  while (true) {
    std::string folder = root;
    folder.append(mount->folder).append(below);
    const auto quota = quota_in(folder, second_version);
    if (quota) least = std::min(least.value_or(*quota), *quota);
    const std::size_t end = below.rfind('/');
    if (end == std::string::npos) return least;
    below.resize(end);
  }
}

}  // namespace

std::optional<int> cpu_quota(const std::string& root) {
  std::optional<int> cpus;
  for (const bool second_version : {true, false})
    if (const auto quota = quota_of(root, second_version)) {
      const int whole = static_cast<int>(std::clamp(*quota, 1.0, 1e6));
      cpus = std::min(cpus.value_or(whole), whole);
    }
  return cpus;
}

}  // namespace polypath
