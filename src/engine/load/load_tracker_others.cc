// The transfers of other processes, as the ledger shows them.
//
// A process is not notified of transfers that start later beside its own. So entries stay in the
// ledger when they are over, and the next transfer of a way looks back at those that were there the
// last time. A recurring set has a name, made of all its transfers, which each process publishes
// with its own part: where all have published the same name, all know the same set.

#include <algorithm>
#include <utility>

#include "core/hash.h"
#include "engine/load/load_times.h"
#include "engine/load/load_tracker.h"

namespace polypath {
namespace {

constexpr double kRoom = 1.02;  // of a capacity, for what rounding adds

// Neither was about to end when the other one started.
bool were_together(const LedgerEntry& a, const LedgerEntry& b) {
  const double together = std::min(a.end, b.end) - std::max(a.start, b.start);
  return together > kAboutToEnd * std::min(a.duration, b.duration);
}

}  // namespace

LedgerEntry LoadTracker::entry_of(const Plan& plan) const {
  Load load;
  add_rates(resources_, plan.shape, load);
  LedgerEntry entry = ledger_->entry(plan.source, plan.destination, plan.bytes, load);
  entry.duration = plan.predicted.value;
  return entry;
}

// The ledger keeps the last ones: those in flight.
void LoadTracker::publish(Seconds now) {
  const double offset = ahead_ ? *ahead_ : ledger_->time() - now.value;
  published_.clear();
  publish_lately_over();
  for (const auto& [stream, running] : running_) {
    if (std::max(running.end, running.back_until) <= now) continue;
    History& history = histories_[way_of(*running.plan)];
    LedgerEntry& entry = published_.emplace_back(running.entry);
    entry.start = history.start.value + offset;
    entry.end = running.end.value + offset;
    if (running.back_until > now) entry.back_until = running.back_until.value + offset;
    history.entry = entry;
  }
  ledger_->publish(published_);
}

// Ways that are not in flight, as they were.
void LoadTracker::publish_lately_over() {
  for (const Way& way : lately_) {
    const auto is_of_way = [&](const auto& entry) { return way_of(*entry.second.plan) == way; };
    if (std::none_of(running_.begin(), running_.end(), is_of_way))
      published_.push_back(histories_[way].entry);
  }
}

// Those in flight, and those that met the last transfer of this way.
void LoadTracker::look_at_others(const TransferRequest& asked, Seconds now,
                                 Contention& contention) {
  const Way own{asked.source, asked.destination};
  const auto history = histories_.find(own);
  const double time = ledger_->time();
  ahead_ = time - now.value;
  const double since =
      history == histories_.end() ? time : std::min(time, history->second.entry.start);
  for (const LedgerEntry& entry : ledger_->others(time, since)) {
    add_other(entry, asked, contention);
    if (history != histories_.end()) meet_other(entry, own, now);
  }
}

void LoadTracker::add_other(const LedgerEntry& entry, const TransferRequest& asked,
                            Contention& contention) const {
  const double now = ledger_->time();
  const std::uint64_t from = ledger_->key_of(asked.source), to = ledger_->key_of(asked.destination);
  const bool runs = still_runs(entry.end, entry.duration, now);
  if (entry.source == from && entry.destination == to) return;
  if (entry.source == to && entry.destination == from && as_large(entry.bytes, asked.bytes.value)) {
    if (runs || entry.back_until > now) contention.both_ways = BothWays::by_processes;
    if (runs) contention.meets_way_back = true;
  } else if (runs) {
    ledger_->add(entry, contention.foreign_load);
  }
}

// Places that this process does not see, and another transfer of the same way, cannot be part of
// what it knows.
void LoadTracker::meet_other(const LedgerEntry& entry, const Way& own, Seconds now) {
  History& history = histories_[own];
  const bool runs = still_runs(entry.end, entry.duration, ledger_->time());
  if (!runs && !were_together(entry, history.entry)) return;
  ++changes_;
  const int episode = runs ? episode_of(own, now) : history.episodes;
  const auto from = ledger_->place_of(entry.source), to = ledger_->place_of(entry.destination);
  if (!from || !to || own == Way{*from, *to} || lately_met(own, {*from, *to}, now) != nullptr) {
    history.strange_episode = episode;
    return;
  }
  Foreign& other = history.foreign[{*from, *to}];
  if (other.bytes != Bytes{} && other.bytes != Bytes{entry.bytes}) other.varied_episode = episode;
  other.bytes = {entry.bytes};
  other.episode = episode;
  other.set_name = entry.set;
}

// Nothing where not all of them can be told apart, or one has varied.
std::optional<LoadTracker::ForeignWays> LoadTracker::lately_met_others(const Way& way,
                                                                       Seconds now) const {
  const History& history = histories_.at(way);
  const int episode = episode_of(way, now);
  if (episode - history.strange_episode <= kRemembered) return std::nullopt;
  ForeignWays met;
  for (const auto& [other, foreign] : history.foreign) {
    if (episode - foreign.episode > kRemembered) continue;
    if (episode - foreign.varied_episode <= kRemembered) return std::nullopt;
    met.insert({other, foreign});
  }
  return met;
}

// Processes that see the same places in the same order have the same set in the same order.
void LoadTracker::recognise_with_others(const std::vector<Way>& ways, const ForeignWays& others,
                                        Contention& contention) const {
  std::vector<JointTransfer> transfers;
  std::vector<std::uint64_t> said;
  for (const Way& way : ways) {
    const History& history = histories_.at(way);
    transfers.push_back({way.first, way.second, history.bytes});
    said.push_back(history.entry.set);
  }
  for (const auto& [way, other] : others) {
    transfers.push_back({way.first, way.second, other.bytes});
    said.push_back(other.set_name);
  }
  std::sort(transfers.begin(), transfers.end());
  Hash hash(ledger_->view());
  for (const JointTransfer& each : transfers) {
    const std::array<std::uint64_t, 3> name{ledger_->key_of(each.source),
                                            ledger_->key_of(each.destination), each.bytes.value};
    hash.add(name.data(), sizeof name);
  }
  contention.set_name = hash.value();
  const auto agrees = [&](std::uint64_t name) { return name == contention.set_name; };
  if (std::all_of(said.begin(), said.end(), agrees))
    contention.set = {.transfers = std::move(transfers), .issuers = Issuers::processes};
}

bool LoadTracker::lacks_room(const Plan& plan, const Load& foreign_load) const {
  if (foreign_load.empty()) return false;
  Load own;
  add_rates(resources_, plan.shape, own);
  for (std::size_t r = 0; r < own.size(); ++r)
    if (own[r].value > 0 && foreign_load[r].value > 0 &&
        own[r].value + foreign_load[r].value > kRoom * resources_.capacities()[r].value)
      return true;
  return false;
}

}  // namespace polypath
