#include "plan/options.h"

#include <fmt/format.h>

#include <charconv>

#include "core/error.h"
#include "core/text.h"

namespace polypath {
namespace {

// Reads "name=number,name=number".
template <class Number>
std::map<std::string, Number> parse_pairs(const std::string& text, const char* what,
                                          const char* example) {
  std::map<std::string, Number> pairs;
  for (const std::string& part : split(text, ',')) {
    const auto equals = part.find('=');
    const std::string digits = equals == std::string::npos ? "" : part.substr(equals + 1);
    Number number{};
    const char* all = digits.data() + digits.size();
    const auto [end, error] = std::from_chars(digits.data(), all, number);
    if (equals == 0 || digits.empty() || error != std::errc{} || end != all)
      fail(ErrorCode::invalid_argument, fmt::format("{} '{}' cannot be read", what, part),
           "each is PATH=NUMBER", fmt::format("Write for example {}.", example));
    if (!pairs.emplace(part.substr(0, equals), number).second)
      fail(ErrorCode::invalid_argument, fmt::format("{} '{}' names a path twice", what, part),
           "a path has one", "Remove one of them.");
  }
  return pairs;
}

}  // namespace

const char* describe(LeftOutBecause why) {
  switch (why) {
    case LeftOutBecause::exclusive_compute_mode:
      return "its compute mode gives the GPU to one process, and this one does not use it";
    case LeftOutBecause::preparation_failed: return "it could not be prepared for staging before";
    case LeftOutBecause::must_not_wait_for_program:
      return "nothing there may wait for what the program has in its stream";
    case LeftOutBecause::waits_for_reads:
      return "copies to it would wait while the receiver's GPU reads the same memory";
    case LeftOutBecause::being_prepared: return "it is being prepared, and others are ready";
  }
  return "";
}

std::optional<LeftOutBecause> LeftOutRelays::reason(PlaceId place) const {
  for (std::size_t why = 0; why < sets_.size(); ++why)
    if (sets_[why].contains(place)) return static_cast<LeftOutBecause>(why);
  return std::nullopt;
}

bool LeftOutRelays::empty() const {
  return std::all_of(sets_.begin(), sets_.end(), [](const PlaceSet& set) { return set.empty(); });
}

std::optional<Executor> parse_executor(const std::string& name) {
  if (name == "auto") return std::nullopt;
  if (name == "native") return Executor::native;
  if (name == "stream") return Executor::stream;
  if (name == "graph") return Executor::graph;
  fail(ErrorCode::invalid_argument, fmt::format("executor '{}' is unknown", name),
       "the executors are auto, native, stream and graph", "Name one of them.");
}

std::map<std::string, double> parse_shares(const std::string& text) {
  return parse_pairs<double>(text, "share", "direct=0.9,host=0.1");
}

std::map<std::string, int> parse_chunks(const std::string& text) {
  return parse_pairs<int>(text, "chunk count", "host=8,gpu2=4");
}

}  // namespace polypath
