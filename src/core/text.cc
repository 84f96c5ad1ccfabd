#include "core/text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <limits>

#include "core/error.h"

namespace polypath {
namespace {

constexpr std::string_view kSuffixes = "KMGT";

[[noreturn]] void fail_size(std::string_view text, std::string_view what) {
  fail(ErrorCode::invalid_argument, fmt::format("{} '{}' cannot be read", what, text),
       "a size is a whole number with an optional K, M, G or T, powers of 1024",
       "Write for example 4096, 64K or 512M.");
}

// The power of two that a suffix such as "", "K", "MB" or "GiB" stands for; -1 if none.
int shift_of(std::string_view suffix) {
  if (suffix.empty() || suffix == "B") return 0;
  const char unit = static_cast<char>(std::toupper(static_cast<unsigned char>(suffix.front())));
  const auto position = kSuffixes.find(unit);
  const std::string_view rest = suffix.substr(1);
  const bool known = rest.empty() || rest == "B" || rest == "iB";
  if (position == std::string_view::npos || !known) return -1;
  return 10 * (static_cast<int>(position) + 1);
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\n\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n\r") - first + 1);
}

/// A number with so many significant digits, never in scientific notation: "28.0", "1000".
std::string with_digits(double value, int digits) {
  const int before_point =
      value == 0 ? 1 : static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  return fmt::format("{:.{}f}", value, std::max(0, digits - before_point));
}

}  // namespace

Bytes parse_bytes(std::string_view text, std::string_view what) {
  const std::string_view trimmed = trim(text);
  std::uint64_t number = 0;
  const char* end = trimmed.data() + trimmed.size();
  const auto [rest, error] = std::from_chars(trimmed.data(), end, number);
  if (error != std::errc{}) fail_size(text, what);
  const int shift = shift_of(std::string_view(rest, static_cast<std::size_t>(end - rest)));
  if (shift < 0) fail_size(text, what);
  if (number > (std::numeric_limits<std::uint64_t>::max() >> shift)) fail_size(text, what);
  return {number << shift};
}

std::optional<int> parse_number(std::string_view text) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && rest == end ? std::optional(number) : std::nullopt;
}

std::string format_bytes(Bytes bytes) {
  int power = 0;
  std::uint64_t value = bytes.value;
  while (value != 0 && value % 1024 == 0 && power < 4) value /= 1024, ++power;
  return power == 0 ? fmt::format("{}", value)
                    : fmt::format("{}{}", value, kSuffixes[static_cast<std::size_t>(power) - 1]);
}

std::string describe_bytes(Bytes bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = bytes.real();
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) value /= 1024, ++unit;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

std::string describe_seconds(Seconds seconds) {
  const double value = seconds.value;
  if (!std::isfinite(value)) return "never";
  if (std::abs(value) < 1e-3) return with_digits(value * 1e6, 3) + " us";
  if (std::abs(value) < 1) return with_digits(value * 1e3, 4) + " ms";
  return with_digits(value, 4) + " s";
}

std::string describe_bandwidth(BytesPerSecond bandwidth) {
  return with_digits(bandwidth.value / 1e9, 3) + " GB/s";
}

std::string today() { return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))); }

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const auto end = text.find(separator, begin);
    parts.emplace_back(trim(text.substr(begin, end - begin)));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

}  // namespace polypath
