#include "engine/load_tracker.h"

#include <algorithm>

namespace polypath {
namespace {

constexpr double kComesBack = 2;       // within so many times its own time
constexpr Seconds kSlack = 1000_us;    // and this for what the program does in between
constexpr std::uint64_t kAsLarge = 2;  // up to this factor
constexpr double kMeets = 0.02;        // less of a capacity than this is nobody's concern

bool as_large(std::uint64_t a, std::uint64_t b) { return a <= kAsLarge * b && b <= kAsLarge * a; }

// Until when a transfer counts, in seconds.
double forgotten(double start, double end, bool overlapped) {
  return overlapped ? end + (end - start) * kComesBack + kSlack.value : end;
}

}  // namespace

bool LoadTracker::Running::mirrors(const Asked& asked) const {
  return plan->source == asked.destination && plan->destination == asked.source &&
         as_large(plan->bytes.value, asked.bytes.value);
}

bool LoadTracker::mirrors(const LedgerEntry& entry, const Asked& asked) const {
  return entry.source == ledger_->key_of(asked.destination) &&
         entry.destination == ledger_->key_of(asked.source) &&
         as_large(entry.bytes, asked.bytes.value);
}

LoadTracker::LoadTracker(const Machine& machine, std::unique_ptr<NodeLedger> ledger)
    : machine_(machine), resources_(machine_), ledger_(std::move(ledger)) {}

void LoadTracker::add(StreamHandle stream, PlanPointer plan, Seconds now) {
  const std::scoped_lock lock(mutex_);
  Running& running = running_[stream];
  const Asked asked{stream, plan->source, plan->destination, plan->bytes};
  running.overlapped = overlaps_in_ledger(asked);
  for (auto& [other_stream, other] : running_)
    if (other_stream != stream && other.end > now && other.mirrors(asked))
      other.overlapped = running.overlapped = true;
  running.start = std::max(running.end, now);
  running.end = running.start + plan->predicted;
  running.plan = std::move(plan);
  publish(now);
}

bool LoadTracker::overlaps_in_ledger(const Asked& asked) const {
  if (!ledger_) return false;
  const double now = NodeLedger::now();
  const auto others = ledger_->others();
  return std::any_of(others.begin(), others.end(), [&](const LedgerEntry& entry) {
    return entry.end > now && mirrors(entry, asked);
  });
}

void LoadTracker::publish(Seconds now) const {
  if (!ledger_) return;
  const double offset = NodeLedger::now() - now.value;
  std::vector<LedgerEntry> entries;
  for (const auto& [stream, running] : running_) {
    if (forgotten(running.start.value, running.end.value, running.overlapped) <= now.value)
      continue;
    Load load;
    add_rates(*running.plan, load);
    entries.push_back(
        ledger_->entry(running.plan->source, running.plan->destination, running.plan->bytes, load));
    entries.back().start = running.start.value + offset;
    entries.back().end = running.end.value + offset;
    entries.back().overlapped = running.overlapped ? 1 : 0;
  }
  ledger_->publish(entries);
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
  std::erase_if(running_, [&](const auto& entry) {
    const Running& running = entry.second;
    return forgotten(running.start.value, running.end.value, running.overlapped) <= now.value;
  });
  Company company;
  for (const auto& [stream, running] : running_) {
    if (stream == asked.stream) continue;
    const bool runs = running.end > now;
    if ((runs || running.overlapped) && running.mirrors(asked) && !company.both_ways)
      company.both_ways = true;
    else if (runs) add_rates(*running.plan, company.load);
  }
  if (ledger_) add_others(asked, company);
  return company;
}

bool LoadTracker::meets(const Plan& plan, const Load& crowd) const {
  if (crowd.empty()) return false;
  Load own;
  add_rates(plan, own);
  for (std::size_t r = 0; r < own.size(); ++r)
    if (own[r].value > 0 && crowd[r].value > kMeets * resources_.capacities()[r].value) return true;
  return false;
}

// The same for other processes' transfers.
void LoadTracker::add_others(const Asked& asked, Company& company) const {
  const double now = NodeLedger::now();
  for (const LedgerEntry& entry : ledger_->others()) {
    const bool overlapped = entry.overlapped != 0, runs = entry.start <= now && entry.end > now;
    if (forgotten(entry.start, entry.end, overlapped) <= now) continue;
    if ((runs || overlapped) && mirrors(entry, asked) && !company.both_ways)
      company.both_ways = true;
    else if (runs) ledger_->add(entry, company.crowd);
  }
}

}  // namespace polypath
