#include "engine/load/transfer_histories.h"

#include <algorithm>

namespace polypath::engine {

void TransferHistories::begin_episode(const Way& way, Seconds now) {
  if (running_.are_in_flight(way, now)) return;
  TransferHistory& history = by_way_[way];
  ++history.episodes;
  history.start = now;
  if (history.known_when == changes_ && may_forget(way, history.known_set)) ++changes_;
}

void TransferHistories::note_size(const Plan& plan) {
  TransferHistory& history = by_way_[way_of(plan)];
  if (history.bytes == plan.bytes) return;
  if (history.bytes != Bytes{}) history.varied_episode = history.episodes;
  history.bytes = plan.bytes;
  ++changes_;
}

// One thread does not call twice at the same moment, unless its clock is a simulated one that
// several lanes have to themselves.
void TransferHistories::meet(StreamHandle stream, const RunningTransfer& transfer, Seconds now) {
  const Way way = way_of(*transfer.plan);
  TransferHistory& own = by_way_[way];
  for (const auto& [other_stream, other] : running_) {
    const Way others = way_of(*other.plan);
    if (other_stream == stream || others == way || !other.runs(now)) continue;
    const bool beside = other.thread != transfer.thread || now <= other.called;
    TransferHistory& theirs = by_way_[others];
    const bool mine = note(other, Came::first, own.episodes, beside, own.met[others]);
    const bool other_s = note(transfer, Came::second, theirs.episodes, beside, theirs.met[way]);
    if (mine || other_s) ++changes_;
  }
}

// The order of arrival stays as it was when they met: rounds that follow closely are not told
// apart. Returns whether the overlap is more than one like the last, in the next round or the same.
bool TransferHistories::note(const RunningTransfer& transfer, Came came, int episode,
                             bool by_threads, Overlap& overlap) {
  const bool is_news = !overlap.plan || episode - overlap.episode > 1 || transfer.queued ||
                       (by_threads && !overlap.by_threads);
  if (!overlap.plan || !remembers(overlap.episode, episode))
    overlap.came_first = came == Came::first;
  // Counting a plan's holders takes it from the other thread's cache.
  if (overlap.plan != transfer.plan) overlap.plan = transfer.plan;
  overlap.episode = episode;
  if (transfer.queued) overlap.queued_episode = episode;
  overlap.by_threads = overlap.by_threads || by_threads;
  return is_news;
}

void TransferHistories::meet_process(const Way& own, const Way& other, int episode,
                                     const LedgerEntry& entry) {
  ForeignOverlap& overlap = by_way_[own].foreign[other];
  if (overlap.bytes != Bytes{} && overlap.bytes != Bytes{entry.bytes})
    overlap.varied_episode = episode;
  overlap.bytes = {entry.bytes};
  overlap.episode = episode;
  overlap.set_name = entry.set;
}

const TransferHistory* TransferHistories::find(const Way& way) const {
  const auto found = by_way_.find(way);
  return found == by_way_.end() ? nullptr : &found->second;
}

int TransferHistories::episode_of(const Way& way, Seconds now) const {
  return by_way_.at(way).episodes + (running_.are_in_flight(way, now) ? 0 : 1);
}

const Overlap* TransferHistories::lately_met(const Way& way, const Way& other, Seconds now) const {
  const TransferHistory* history = find(way);
  if (history == nullptr) return nullptr;
  const auto met = history->met.find(other);
  if (met == history->met.end()) return nullptr;
  return remembers(met->second.episode, episode_of(way, now)) ? &met->second : nullptr;
}

std::optional<ForeignOverlaps> TransferHistories::lately_met_others(const Way& way,
                                                                    Seconds now) const {
  const TransferHistory& history = by_way_.at(way);
  const int episode = episode_of(way, now);
  if (remembers(history.strange_episode, episode)) return std::nullopt;
  ForeignOverlaps met;
  for (const auto& [other, foreign] : history.foreign) {
    if (!remembers(foreign.episode, episode)) continue;
    if (remembers(foreign.varied_episode, episode)) return std::nullopt;
    met.insert({other, foreign});
  }
  return met;
}

bool TransferHistories::has_met_processes(const Way& way) const {
  const TransferHistory* history = find(way);
  return history != nullptr && !history->foreign.empty();
}

bool TransferHistories::recurs(const Way& way, Seconds now) const {
  const TransferHistory* history = find(way);
  return history != nullptr && !remembers(history->varied_episode, episode_of(way, now));
}

bool TransferHistories::may_forget(const Way& way, const RecurringSet& set) const {
  const TransferHistory& history = by_way_.at(way);
  return std::any_of(set.transfers.begin(), set.transfers.end(), [&](const JointTransfer& each) {
    const Way other{each.source, each.destination};
    if (other == way) return false;
    const auto met = history.met.find(other);
    return met == history.met.end() || !remembers(met->second.episode, history.episodes + 1);
  });
}

}  // namespace polypath::engine
