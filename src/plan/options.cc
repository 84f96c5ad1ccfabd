#include "plan/options.h"

#include <fmt/format.h>

#include "core/error.h"

namespace polypath::plan {

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

}  // namespace polypath::plan
