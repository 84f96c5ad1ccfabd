#include "engine/load_tracker.h"

#include <algorithm>

namespace polypath {
namespace {

constexpr double kComesBack = 2;       // within so many times its own time
constexpr Seconds kSlack = 1000_us;    // and this for what the program does in between
constexpr std::uint64_t kAsLarge = 2;  // up to this factor

}  // namespace

bool LoadTracker::Running::mirrors(const Asked& asked) const {
  return plan->source == asked.destination && plan->destination == asked.source &&
         plan->bytes.value <= kAsLarge * asked.bytes.value &&
         asked.bytes.value <= kAsLarge * plan->bytes.value;
}

Seconds LoadTracker::Running::forgotten() const {
  return overlapped ? end + (end - start) * kComesBack + kSlack : end;
}

void LoadTracker::add(StreamHandle stream, PlanPointer plan, Seconds now) {
  const std::scoped_lock lock(mutex_);
  Running& running = running_[stream];
  const Asked asked{stream, plan->source, plan->destination, plan->bytes};
  running.overlapped = false;
  for (auto& [other_stream, other] : running_)
    if (other_stream != stream && other.end > now && other.mirrors(asked))
      other.overlapped = running.overlapped = true;
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
    const bool runs = running.end > now;
    if ((runs || running.overlapped) && running.mirrors(asked) && !company.both_ways)
      company.both_ways = true;
    else if (runs) add_rates(*running.plan, company.load);
  }
  return company;
}

}  // namespace polypath
