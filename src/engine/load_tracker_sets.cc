// Which transfers recur together, so that everybody knows the same of all of them.

#include <algorithm>
#include <utility>

#include "engine/load_tracker.h"

namespace polypath {

// Where nothing of a way is in flight its next episode begins.
void LoadTracker::begin_episode(const Plan& plan, Seconds now) {
  const Way way = way_of(plan);
  if (ledger_) {
    std::erase(lately_, way);
    if (lately_.size() == LedgerTable::kMostEntries) lately_.erase(lately_.begin());
    lately_.push_back(way);
  }
  if (is_in_flight(way, now)) return;
  ++histories_[way].episodes;
  histories_[way].start = now;
}

void LoadTracker::note_size(const Plan& plan) {
  History& history = histories_[way_of(plan)];
  if (history.bytes != Bytes{} && history.bytes != plan.bytes)
    history.varied_episode = history.episodes;
  history.bytes = plan.bytes;
}

// Null if it has stayed away.
const LoadTracker::Meeting* LoadTracker::lately_met(const Way& way, const Way& other,
                                                    Seconds now) const {
  const auto history = histories_.find(way);
  if (history == histories_.end()) return nullptr;
  const auto met = history->second.met.find(other);
  if (met == history->second.met.end()) return nullptr;
  return episode_of(way, now) - met->second.episode <= kRemembered ? &met->second : nullptr;
}

// A way whose transfers have all been as large lately.
bool LoadTracker::recurs(const Way& way, Seconds now) const {
  const auto history = histories_.find(way);
  return history != histories_.end() &&
         episode_of(way, now) - history->second.varied_episode > kRemembered;
}

// Everybody has lately met everybody else and nobody besides, so that each would find the same.
bool LoadTracker::knows_all(const std::vector<Way>& ways, Seconds now) const {
  const auto contains = [&](const Way& way) {
    return std::find(ways.begin(), ways.end(), way) != ways.end();
  };
  for (const Way& each : ways) {
    if (!recurs(each, now)) return false;
    for (const auto& [way, meeting] : histories_.at(each).met)
      if (lately_met(each, way, now) != nullptr && !contains(way)) return false;
    for (const Way& other : ways)
      if (other != each && lately_met(each, other, now) == nullptr) return false;
  }
  return true;
}

// What recurs with the transfer, if that is all it meets now.
void LoadTracker::recognise(const Asked& asked, Seconds now, const ByWay& companions,
                            Contention& contention) const {
  const Way own{asked.source, asked.destination}, back{asked.destination, asked.source};
  const auto history = histories_.find(own);
  if (history == histories_.end() || history->second.bytes != asked.bytes) return;
  std::vector<Way> ways{own};
  for (const auto& [way, meeting] : history->second.met)
    if (lately_met(own, way, now) != nullptr) ways.push_back(way);
  const auto others = lately_met_others(own, now);
  if (!others || ways.size() + others->size() < 2 || ways.size() + others->size() > kMostRecurring)
    return;
  const auto contains = [&](const Way& way) {
    return others->contains(way) || std::find(ways.begin(), ways.end(), way) != ways.end();
  };
  for (const auto& [way, companion] : companions)
    if (!contains(way)) return;
  if (contention.both_ways != BothWays::no && !contains(back)) return;
  if (!knows_all(ways, now)) return;
  if (others->empty()) contention.set = set_of(ways, now);
  else recognise_with_others(ways, *others, contention);
}

RecurringSet LoadTracker::set_of(const std::vector<Way>& ways, Seconds now) const {
  RecurringSet set;
  std::vector<std::pair<int, JointTransfer>> ranked;
  for (const Way& way : ways) {
    int earlier = 0;
    for (const Way& other : ways) {
      const Meeting* met = other == way ? nullptr : lately_met(way, other, now);
      if (met == nullptr) continue;
      earlier += met->came_first ? 1 : 0;
      if (met->by_threads) set.issuers = Issuers::threads;
      set.queues |= episode_of(way, now) - met->queued_episode <= kRemembered;
    }
    ranked.push_back({earlier, {way.first, way.second, histories_.at(way).bytes}});
  }
  if (set.issuers != Issuers::one_thread)
    for (auto& [rank, transfer] : ranked) rank = 0;
  std::sort(ranked.begin(), ranked.end());
  for (const auto& [rank, transfer] : ranked) set.transfers.push_back(transfer);
  return set;
}

}  // namespace polypath
