#include "engine/load/set_finder.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/hash.h"

namespace polypath::engine {
namespace {

bool contains(const std::vector<Way>& ways, const Way& way) {
  return std::find(ways.begin(), ways.end(), way) != ways.end();
}

}  // namespace

// Reading the histories of all ways takes microseconds where two threads write them; the result
// holds until a history changes.
SetFinder::Found SetFinder::find(const ContentionQuery& query) {
  const TransferHistory* history = histories_.find(query.own());
  if (history == nullptr || history->bytes != query.asked().bytes) return {};
  if (history->known_when != histories_.changes()) return search(query);
  const RecurringSet& known = history->known_set;
  const auto is_of_it = [&](const Way& way) {
    return std::any_of(known.transfers.begin(), known.transfers.end(),
                       [&](const JointTransfer& each) {
                         return Way{each.source, each.destination} == way;
                       });
  };
  return query.meets_only(is_of_it) ? Found{.set = known} : Found{};
}

// Each way of the set has to know all of it; see knows_all.
SetFinder::Found SetFinder::search(const ContentionQuery& query) {
  const Way own = query.own();
  const Seconds now = query.now();
  std::vector<Way> ways{own};
  for (const auto& [way, overlap] : histories_.at(own).met)
    if (histories_.lately_met(own, way, now) != nullptr) ways.push_back(way);
  const auto others = histories_.lately_met_others(own, now);
  if (!others || ways.size() + others->size() < 2 || ways.size() + others->size() > kMostRecurring)
    return {};
  const auto is_of_it = [&](const Way& way) {
    return others->contains(way) || contains(ways, way);
  };
  if (!query.meets_only(is_of_it) || !knows_all(ways, now)) return {};
  if (!others->empty()) return set_with_others(ways, *others);
  Found found{.set = set_of(ways, now)};
  remember(ways, found.set, now);
  return found;
}

// Each way has lately met all the others and no way besides, so that each would find the same set.
bool SetFinder::knows_all(const std::vector<Way>& ways, Seconds now) const {
  for (const Way& each : ways) {
    if (!histories_.recurs(each, now)) return false;
    for (const auto& [way, overlap] : histories_.at(each).met)
      if (histories_.lately_met(each, way, now) != nullptr && !contains(ways, way)) return false;
    for (const Way& other : ways)
      if (other != each && histories_.lately_met(each, other, now) == nullptr) return false;
  }
  return true;
}

RecurringSet SetFinder::set_of(const std::vector<Way>& ways, Seconds now) const {
  RecurringSet set;
  std::vector<std::pair<int, JointTransfer>> ranked;
  for (const Way& way : ways) {
    int earlier = 0;
    for (const Way& other : ways) {
      const Overlap* met = other == way ? nullptr : histories_.lately_met(way, other, now);
      if (met == nullptr) continue;
      earlier += met->came_first ? 1 : 0;
      if (met->by_threads) set.issuers = Issuers::threads;
      set.queues |=
          TransferHistories::remembers(met->queued_episode, histories_.episode_of(way, now));
    }
    ranked.push_back({earlier, {way.first, way.second, histories_.at(way).bytes}});
  }
  if (set.issuers != Issuers::one_thread)
    for (auto& [rank, transfer] : ranked) rank = 0;
  std::sort(ranked.begin(), ranked.end());
  for (const auto& [rank, transfer] : ranked) set.transfers.push_back(transfer);
  return set;
}

// Processes that see the same places in the same order have the same set in the same order.
SetFinder::Found SetFinder::set_with_others(const std::vector<Way>& ways,
                                            const ForeignOverlaps& others) const {
  std::vector<JointTransfer> transfers;
  std::vector<std::uint64_t> said;
  for (const Way& way : ways) {
    const TransferHistory& history = histories_.at(way);
    transfers.push_back({way.first, way.second, history.bytes});
    said.push_back(history.entry.set);
  }
  for (const auto& [way, other] : others) {
    transfers.push_back({way.first, way.second, other.bytes});
    said.push_back(other.set_name);
  }
  std::sort(transfers.begin(), transfers.end());
  Found found{.name = name_of(transfers)};
  const auto agrees = [&](std::uint64_t name) { return name == found.name; };
  if (std::all_of(said.begin(), said.end(), agrees))
    found.set = {.transfers = std::move(transfers), .issuers = Issuers::processes};
  return found;
}

std::uint64_t SetFinder::name_of(const std::vector<JointTransfer>& transfers) const {
  Hash hash(ledger_->view());
  for (const JointTransfer& each : transfers) {
    const std::array<std::uint64_t, 3> name{ledger_->key_of(each.source),
                                            ledger_->key_of(each.destination), each.bytes.value};
    hash.add(name.data(), sizeof name);
  }
  return hash.value();
}

// A set holds as long as nothing new is said of any of its ways; whether it still queues, has to be
// asked each time.
void SetFinder::remember(const std::vector<Way>& ways, const RecurringSet& set, Seconds now) {
  if (set.queues) return;
  for (const Way& way : ways) {
    const auto others = histories_.lately_met_others(way, now);
    if (!others || !others->empty() || histories_.may_forget(way, set)) return;
  }
  for (const Way& way : ways) {
    TransferHistory& history = histories_.of(way);
    history.known_set = set;
    history.known_when = histories_.changes();
  }
}

}  // namespace polypath::engine
