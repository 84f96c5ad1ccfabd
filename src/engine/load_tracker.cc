#include "engine/load_tracker.h"

#include <algorithm>

namespace polypath {
namespace {

constexpr double kComesBack = 0.5;     // within this part of its own time
constexpr Seconds kSlack = 20_us;      // and this for the calls in between
constexpr std::uint64_t kAsLarge = 2;  // up to this factor

}  // namespace

bool LoadTracker::Running::mirrors(const Asked& asked) const {
  return plan->source == asked.destination && plan->destination == asked.source &&
         plan->bytes.value <= kAsLarge * asked.bytes.value &&
         asked.bytes.value <= kAsLarge * plan->bytes.value;
}

Seconds LoadTracker::Running::forgotten() const {
  return end + (end - start) * kComesBack + kSlack;
}

void LoadTracker::add(StreamHandle stream, PlanPointer plan, Seconds now) {
  const std::scoped_lock lock(mutex_);
  Running& running = running_[stream];
  running.start = std::max(running.end, now);
  running.end = running.start + plan->predicted;
  running.plan = std::move(plan);
}

// While it carries anything a path takes its full rate, however little it carries in all.
void LoadTracker::add_rates(const Plan& plan, Load& load) const {
  load.resize(resources_.capacities().size());
  for (const PathShape& part : plan.shape.paths) {
    const double rate = resources_.own_rate(part.path).value;
    for (const Use& claim : resources_.claims(part.path))
      load[claim.resource.index()].value += claim.weight * rate;
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
    if (running.end > now) add_rates(*running.plan, company.load);
  }
  return company;
}

}  // namespace polypath
