#include "engine/load_tracker.h"

#include <algorithm>

namespace polypath {

void LoadTracker::add(StreamHandle stream, const Plan& plan, Seconds now) {
  const std::scoped_lock lock(mutex_);
  Running& running = running_[stream];
  running.end = std::max(running.end, now) + plan.predicted;
  running.rates.assign(resources_.capacities().size(), {});
  for (const PathShape& part : plan.shape.paths) {
    // While it carries anything a path takes its full rate, however little it carries in all.
    const double rate = resources_.own_rate(part.path).value;
    for (const Use& claim : resources_.claims(part.path))
      running.rates[claim.resource.index()].value += claim.weight * rate;
  }
}

Load LoadTracker::load_beside(StreamHandle stream, Seconds now) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(running_, [&](const auto& entry) { return entry.second.end <= now; });
  Load load;
  for (const auto& [other, running] : running_) {
    if (other == stream) continue;
    load.resize(resources_.capacities().size());
    for (std::size_t r = 0; r < load.size(); ++r) load[r].value += running.rates[r].value;
  }
  return load;
}

}  // namespace polypath
