#include "engine/load/load_exchange.h"

#include <algorithm>

#include "engine/load/load_times.h"

namespace polypath::engine {
namespace {

// Neither was about to end when the other one started.
bool were_together(const LedgerEntry& a, const LedgerEntry& b) {
  const double together = std::min(a.end, b.end) - std::max(a.start, b.start);
  return together > kAboutToEnd * std::min(a.duration, b.duration);
}

}  // namespace

void LoadExchange::note(const Way& way) {
  std::erase(lately_, way);
  if (lately_.size() == LedgerTable::kMostEntries) lately_.erase(lately_.begin());
  lately_.push_back(way);
}

LedgerEntry LoadExchange::entry_of(const Plan& plan) const {
  Load load;
  add_rates(resources_, plan.shape, load);
  LedgerEntry entry = ledger_.entry(plan.source, plan.destination, plan.bytes, load);
  entry.duration = plan.predicted.value;
  return entry;
}

double LoadExchange::ahead(Seconds now) const {
  return ahead_ ? *ahead_ : ledger_.time() - now.value;
}

// Another stream's transfer of the same way gets its own times back when it is published.
void LoadExchange::note_end(const RunningTransfer& transfer, Seconds now) {
  const double offset = ahead(now);
  LedgerEntry& entry = histories_.of(way_of(*transfer.plan)).entry;
  entry.end = std::min(entry.end, transfer.end.value + offset);
  if (transfer.back_until > Seconds{}) entry.back_until = transfer.back_until.value + offset;
}

// The ledger keeps the last ones: those in flight.
void LoadExchange::publish(const RunningTransfers& running, Seconds now) {
  const double offset = ahead(now);
  published_.clear();
  publish_lately_over(running);
  for (const auto& [stream, transfer] : running) {
    if (std::max(transfer.end, transfer.back_until) <= now) continue;
    TransferHistory& history = histories_.of(way_of(*transfer.plan));
    LedgerEntry& entry = published_.emplace_back(transfer.entry);
    entry.start = history.start.value + offset;
    entry.end = transfer.end.value + offset;
    if (transfer.back_until > now) entry.back_until = transfer.back_until.value + offset;
    history.entry = entry;
  }
  ledger_.publish(published_);
}

void LoadExchange::publish_lately_over(const RunningTransfers& running) {
  for (const Way& way : lately_)
    if (!running.has(way)) published_.push_back(histories_.of(way).entry);
}

Contention LoadExchange::contention_of(const TransferRequest& asked, Seconds now) {
  Contention contention;
  const Way own = way_of(asked);
  const TransferHistory* history = histories_.find(own);
  const double time = ledger_.time();
  ahead_ = time - now.value;
  const double since = history == nullptr ? time : std::min(time, history->entry.start);
  for (const LedgerEntry& entry : ledger_.others(time, since)) {
    add(entry, asked, contention);
    if (history != nullptr) meet(entry, own, now);
  }
  return contention;
}

void LoadExchange::add(const LedgerEntry& entry, const TransferRequest& asked,
                       Contention& contention) const {
  const double now = ledger_.time();
  const std::uint64_t from = ledger_.key_of(asked.source), to = ledger_.key_of(asked.destination);
  const bool runs = still_runs(entry.end, entry.duration, now);
  if (entry.source == from && entry.destination == to) return;
  if (entry.source == to && entry.destination == from && as_large(entry.bytes, asked.bytes.value)) {
    if (runs || entry.back_until > now) contention.both_ways = BothWays::by_processes;
    if (runs) contention.meets_way_back = true;
  } else if (runs) {
    ledger_.add(entry, contention.foreign_load);
  }
}

// Places that this process does not see, and another transfer of the same way, cannot be part of
// what it knows.
void LoadExchange::meet(const LedgerEntry& entry, const Way& own, Seconds now) {
  TransferHistory& history = histories_.of(own);
  const bool runs = still_runs(entry.end, entry.duration, ledger_.time());
  if (!runs && !were_together(entry, history.entry)) return;
  histories_.note_change();
  const int episode = runs ? histories_.episode_of(own, now) : history.episodes;
  const auto from = ledger_.place_of(entry.source), to = ledger_.place_of(entry.destination);
  const bool is_strange = !from || !to || own == Way{*from, *to} ||
                          histories_.lately_met(own, {*from, *to}, now) != nullptr;
  if (is_strange) history.strange_episode = episode;
  else histories_.meet_process(own, {*from, *to}, episode, entry);
}

}  // namespace polypath::engine
