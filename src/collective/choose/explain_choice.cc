#include "collective/choose/explain_choice.h"

#include <fmt/format.h>

#include <string>

#include "core/text.h"

namespace polypath::collective {
namespace {

std::string in_words(const CollectiveDraft& draft) {
  return fmt::format("pieces of {}, {}, {}", describe_bytes(draft.tuning.piece),
                     draft.tuning.several_paths ? "several paths" : "one path",
                     draft.executor == Executor::graph ? "a graph" : "streams");
}

}  // namespace

void explain(std::vector<AlgorithmDecision>& decisions) {
  decisions.front().chosen = true;
  const Seconds best = decisions.front().draft.predicted;
  for (AlgorithmDecision& each : decisions) {
    if (each.draft.predicted == Seconds::infinity()) {
      each.reason = "cannot be done by ranks of their own: memory out of reach, or too many flags";
      continue;
    }
    const double factor = each.draft.predicted / best;
    if (each.chosen) each.reason = fmt::format("is over first: {}", in_words(each.draft));
    else if (each.at_least)
      each.reason =
          fmt::format("takes at least {:.2f} times as long, by what its links carry", factor);
    else
      each.reason =
          fmt::format("takes {:.2f} times as long at its best: {}", factor, in_words(each.draft));
  }
}

}  // namespace polypath::collective
