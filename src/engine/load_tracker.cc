#include "engine/load_tracker.h"

#include <algorithm>
#include <utility>

namespace polypath {
namespace {

constexpr double kComesBack = 2;       // within so many times its own time
constexpr Seconds kSlack = 1000_us;    // and this for what the program does in between
constexpr std::uint64_t kAsLarge = 2;  // up to this factor
constexpr double kRoom = 1.02;         // of a capacity, for what rounding adds

// Predictions are off by up to this part. What is about to end counts as over: else a ping that is
// not predicted to have ended yet when the pong starts would make both count as simultaneous.
constexpr double kAboutToEnd = 0.1;

bool as_large(std::uint64_t a, std::uint64_t b) { return a <= kAsLarge * b && b <= kAsLarge * a; }

bool still_runs(double end, double duration, double now) {
  return end - now > kAboutToEnd * duration;
}

}  // namespace

bool LoadTracker::Running::runs(Seconds now) const {
  return still_runs(end.value, plan->predicted.value, now.value);
}

bool LoadTracker::Running::mirrors(const Asked& asked) const {
  return plan->source == asked.destination && plan->destination == asked.source &&
         as_large(plan->bytes.value, asked.bytes.value);
}

bool LoadTracker::Running::goes_the_same_way(const Asked& asked) const {
  return plan->source == asked.source && plan->destination == asked.destination;
}

void LoadTracker::Running::meet_way_back() {
  back_until = end + plan->predicted * kComesBack + kSlack;
}

LoadTracker::LoadTracker(const Machine& machine, std::unique_ptr<NodeLedger> ledger)
    : machine_(machine), resources_(machine_), ledger_(std::move(ledger)) {}

void LoadTracker::add(StreamHandle stream, PlanPointer plan, Seconds now, const Company& company) {
  const std::scoped_lock lock(mutex_);
  const Asked asked{stream, plan->source, plan->destination, plan->bytes};
  meet(plan, now);
  Running& running = running_[stream];
  running.end = std::max(running.end, now) + plan->predicted;
  running.back_until = {};
  running.plan = std::move(plan);
  if (company.meets_way_back) running.meet_way_back();
  for (auto& [other_stream, other] : running_)
    if (other_stream != stream && other.runs(now) && other.mirrors(asked))
      other.meet_way_back(), running.meet_way_back();
  publish(now);
}

// Notes who is in flight beside whom. Where nothing of this way is, its next transfers begin.
void LoadTracker::meet(const PlanPointer& plan, Seconds now) {
  const Way way = way_of(*plan);
  Meetings& own = meetings_[way];
  const bool begins = std::none_of(running_.begin(), running_.end(), [&](const auto& entry) {
    return way_of(*entry.second.plan) == way && entry.second.runs(now);
  });
  if (begins) own.last = std::exchange(own.now, {});
  for (const auto& [stream, other] : running_) {
    const Way others = way_of(*other.plan);
    if (others == way || !other.runs(now)) continue;
    own.now[others] = other.plan;
    meetings_[others].now[way] = plan;
  }
}

// What met the last transfers of this way and is not there yet.
void LoadTracker::expect(const Asked& asked, Seconds now, Company& company) const {
  const auto found = meetings_.find({asked.source, asked.destination});
  if (found == meetings_.end()) return;
  const auto runs = [&](const Way& way) {
    return std::any_of(running_.begin(), running_.end(), [&](const auto& entry) {
      return way_of(*entry.second.plan) == way && entry.second.runs(now);
    });
  };
  const Way own{asked.source, asked.destination}, back{asked.destination, asked.source};
  for (const auto& [way, plan] : runs(own) ? found->second.last : found->second.now)
    if (way != back && !runs(way)) {
      add_rates(*plan, company.load);
      if (plan->executor() == Executor::native)
        company.native_follower = std::max(company.native_follower, plan->predicted);
    }
}

void LoadTracker::publish(Seconds now) const {
  if (!ledger_) return;
  const double offset = NodeLedger::now() - now.value;
  std::vector<LedgerEntry> entries;
  for (const auto& [stream, running] : running_) {
    if (std::max(running.end, running.back_until) <= now) continue;
    Load load;
    add_rates(*running.plan, load);
    entries.push_back(
        ledger_->entry(running.plan->source, running.plan->destination, running.plan->bytes, load));
    entries.back().duration = running.plan->predicted.value;
    entries.back().end = running.end.value + offset;
    if (running.back_until > now) entries.back().back_until = running.back_until.value + offset;
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
    return std::max(entry.second.end, entry.second.back_until) <= now;
  });
  Company company;
  if (ledger_) add_others(asked, company);
  for (const auto& [stream, running] : running_) {
    if (stream == asked.stream || running.goes_the_same_way(asked)) continue;
    const bool comes_back = running.runs(now) || running.back_until > now;
    if (comes_back && running.mirrors(asked) && company.both_ways != BothWays::by_threads)
      company.both_ways = BothWays::by_threads;
    else if (running.runs(now)) add_rates(*running.plan, company.load);
  }
  expect(asked, now, company);
  return company;
}

// What other processes have in flight.
void LoadTracker::add_others(const Asked& asked, Company& company) const {
  const double now = NodeLedger::now();
  const std::uint64_t from = ledger_->key_of(asked.source), to = ledger_->key_of(asked.destination);
  for (const LedgerEntry& entry : ledger_->others()) {
    const bool runs = still_runs(entry.end, entry.duration, now);
    if (entry.source == from && entry.destination == to) continue;
    if (entry.source == to && entry.destination == from &&
        as_large(entry.bytes, asked.bytes.value)) {
      if (runs || entry.back_until > now) company.both_ways = BothWays::by_processes;
      if (runs) company.meets_way_back = true;
    } else if (runs) {
      ledger_->add(entry, company.crowd);
    }
  }
}

bool LoadTracker::lacks_room(const Plan& plan, const Load& crowd) const {
  if (crowd.empty()) return false;
  Load own;
  add_rates(plan, own);
  for (std::size_t r = 0; r < own.size(); ++r)
    if (own[r].value > 0 && crowd[r].value > 0 &&
        own[r].value + crowd[r].value > kRoom * resources_.capacities()[r].value)
      return true;
  return false;
}

}  // namespace polypath
