#include "standin/facts/planned_failures.h"

#include <charconv>
#include <cstdint>

#include "core/error.h"
#include "core/text.h"

namespace polypath::standin {
namespace {

[[noreturn]] void fail_entry(const std::string& entry) {
  fail(ErrorCode::invalid_argument, "STANDIN_FAIL='" + entry + "' cannot be used",
       "it must be function:first[-last][:code]", "Write, for example, cuMemAlloc:3-5:2.");
}

std::uint64_t number(std::string_view text, const std::string& entry) {
  std::uint64_t read = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (error != std::errc{} || end != text.data() + text.size()) fail_entry(entry);
  return read;
}

PlannedFailure parse(const std::string& entry) {
  const std::vector<std::string> parts = split(entry, ':');
  if (parts.size() < 2 || parts.size() > 3 || !parts[0].starts_with("cu")) fail_entry(entry);
  PlannedFailure failure;
  failure.function = base_name(parts[0]);
  const std::vector<std::string> uses = split(parts[1], '-');
  if (uses.size() > 2) fail_entry(entry);
  failure.first = failure.last = number(uses[0], entry);
  if (uses.size() == 2) failure.last = uses[1].empty() ? UINT64_MAX : number(uses[1], entry);
  if (parts.size() == 3) failure.code = static_cast<int>(number(parts[2], entry));
  return failure;
}

bool remove_suffix(std::string_view& name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return false;
  name.remove_suffix(suffix.size());
  return true;
}

}  // namespace

bool remove_per_thread_suffix(std::string_view& symbol) {
  return remove_suffix(symbol, "_ptsz") || remove_suffix(symbol, "_ptds");
}

std::string_view base_name(std::string_view symbol) {
  (void)remove_per_thread_suffix(symbol);
  for (const std::string_view suffix : {"_v2", "_v3", "_v4"})
    if (remove_suffix(symbol, suffix)) break;
  return symbol;
}

std::vector<PlannedFailure> parse_failures(const std::string& text) {
  std::vector<PlannedFailure> failures;
  if (text.empty()) return failures;
  for (const std::string& entry : split(text, ',')) failures.push_back(parse(entry));
  return failures;
}

}  // namespace polypath::standin
