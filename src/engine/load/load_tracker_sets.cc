// Which transfers recur together, so that each of them knows the same set.

#include <algorithm>
#include <utility>

#include "engine/load/load_tracker.h"

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
  History& history = histories_[way];
  ++history.episodes;
  history.start = now;
  if (history.known_when == changes_ && may_forget(way, history.known_set)) ++changes_;
}

void LoadTracker::note_size(const Plan& plan) {
  History& history = histories_[way_of(plan)];
  if (history.bytes == plan.bytes) return;
  if (history.bytes != Bytes{}) history.varied_episode = history.episodes;
  history.bytes = plan.bytes;
  ++changes_;
}

// Null if it has stayed away.
const LoadTracker::Overlap* LoadTracker::lately_met(const Way& way, const Way& other,
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

// Each way has lately met all the others and no way besides, so that each would find the same set.
bool LoadTracker::knows_all(const std::vector<Way>& ways, Seconds now) const {
  const auto contains = [&](const Way& way) {
    return std::find(ways.begin(), ways.end(), way) != ways.end();
  };
  for (const Way& each : ways) {
    if (!recurs(each, now)) return false;
    for (const auto& [way, overlap] : histories_.at(each).met)
      if (lately_met(each, way, now) != nullptr && !contains(way)) return false;
    for (const Way& other : ways)
      if (other != each && lately_met(each, other, now) == nullptr) return false;
  }
  return true;
}

// Of what is in flight or expected.
template <class IsOfIt>
bool LoadTracker::meets_only(IsOfIt is_of_it, const TransferRequest& asked, const ByWay& concurrent,
                             const Contention& contention) {
  for (const auto& [way, other_transfer] : concurrent)
    if (!is_of_it(way)) return false;
  return contention.both_ways == BothWays::no || is_of_it(Way{asked.destination, asked.source});
}

// The transfers that recur with this one, if it meets no others now. Reading the histories of all
// ways takes microseconds where two threads write them; the result holds until a history changes.
void LoadTracker::recognise(const TransferRequest& asked, Seconds now, const ByWay& concurrent,
                            Contention& contention) {
  const Way own{asked.source, asked.destination};
  const auto history = histories_.find(own);
  if (history == histories_.end() || history->second.bytes != asked.bytes) return;
  if (history->second.known_when != changes_) return find_set(asked, now, concurrent, contention);
  const RecurringSet& known = history->second.known_set;
  const auto is_of_it = [&](const Way& way) {
    return std::any_of(known.transfers.begin(), known.transfers.end(),
                       [&](const JointTransfer& each) {
                         return Way{each.source, each.destination} == way;
                       });
  };
  if (meets_only(is_of_it, asked, concurrent, contention)) contention.set = known;
}

// Each way of the set has to know all of it; see knows_all.
void LoadTracker::find_set(const TransferRequest& asked, Seconds now, const ByWay& concurrent,
                           Contention& contention) {
  const Way own{asked.source, asked.destination};
  std::vector<Way> ways{own};
  for (const auto& [way, overlap] : histories_.at(own).met)
    if (lately_met(own, way, now) != nullptr) ways.push_back(way);
  const auto others = lately_met_others(own, now);
  if (!others || ways.size() + others->size() < 2 || ways.size() + others->size() > kMostRecurring)
    return;
  const auto is_of_it = [&](const Way& way) {
    return others->contains(way) || std::find(ways.begin(), ways.end(), way) != ways.end();
  };
  if (!meets_only(is_of_it, asked, concurrent, contention) || !knows_all(ways, now)) return;
  if (!others->empty()) return recognise_with_others(ways, *others, contention);
  contention.set = set_of(ways, now);
  remember(ways, contention.set, now);
}

// A set holds as long as nothing new is said of any of its ways; whether it still queues, has to be
// asked each time.
void LoadTracker::remember(const std::vector<Way>& ways, const RecurringSet& set, Seconds now) {
  if (set.queues) return;
  for (const Way& way : ways) {
    const auto others = lately_met_others(way, now);
    if (!others || !others->empty() || may_forget(way, set)) return;
  }
  for (const Way& way : ways) {
    histories_.at(way).known_set = set;
    histories_.at(way).known_when = changes_;
  }
}

// True if the way may not have met one of the others lately when it is asked next.
bool LoadTracker::may_forget(const Way& way, const RecurringSet& set) const {
  const History& history = histories_.at(way);
  return std::any_of(set.transfers.begin(), set.transfers.end(), [&](const JointTransfer& each) {
    const Way other{each.source, each.destination};
    if (other == way) return false;
    const auto met = history.met.find(other);
    return met == history.met.end() || history.episodes + 1 - met->second.episode > kRemembered;
  });
}

RecurringSet LoadTracker::set_of(const std::vector<Way>& ways, Seconds now) const {
  RecurringSet set;
  std::vector<std::pair<int, JointTransfer>> ranked;
  for (const Way& way : ways) {
    int earlier = 0;
    for (const Way& other : ways) {
      const Overlap* met = other == way ? nullptr : lately_met(way, other, now);
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
