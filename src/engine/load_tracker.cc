#include "engine/load_tracker.h"

#include <algorithm>

namespace polypath {
namespace {

constexpr double kComesBack = 0.5;     // within this part of its own time
constexpr Seconds kSlack = 20_us;      // and this for the calls in between
constexpr std::uint64_t kAsLarge = 2;  // up to this factor

}  // namespace

bool LoadTracker::Running::mirrors(const Asked& asked) const {
  return source == asked.destination && destination == asked.source &&
         bytes.value <= kAsLarge * asked.bytes.value && asked.bytes.value <= kAsLarge * bytes.value;
}

Seconds LoadTracker::Running::forgotten() const {
  return end + (end - start) * kComesBack + kSlack;
}

void LoadTracker::add(StreamHandle stream, const Plan& plan, Seconds now) {
  const std::scoped_lock lock(mutex_);
  Running& running = running_[stream];
  running.start = std::max(running.end, now);
  running.end = running.start + plan.predicted;
  running.source = plan.source, running.destination = plan.destination;
  running.bytes = plan.bytes;
  running.rates.assign(resources_.capacities().size(), {});
  for (const PathShape& part : plan.shape.paths) {
    // While it carries anything a path takes its full rate, however little it carries in all.
    const double rate = resources_.own_rate(part.path).value;
    for (const Use& claim : resources_.claims(part.path))
      running.rates[claim.resource.index()].value += claim.weight * rate;
  }
}

Company LoadTracker::company_of(const Asked& asked, Seconds now) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(running_, [&](const auto& entry) { return entry.second.forgotten() <= now; });
  Company company;
  for (const auto& [stream, running] : running_) {
    if (stream == asked.stream) continue;
    if (running.mirrors(asked) && !company.both_ways) {
      company.both_ways = true;
      continue;
    }
    if (running.end <= now) continue;
    company.load.resize(resources_.capacities().size());
    for (std::size_t r = 0; r < company.load.size(); ++r)
      company.load[r].value += running.rates[r].value;
  }
  return company;
}

}  // namespace polypath
