#include "engine/load/load_tracker.h"

#include <algorithm>
#include <utility>

#include "engine/load/load_times.h"

namespace polypath {
namespace {

constexpr double kComesBack = 2;     // within so many times its own time
constexpr Seconds kSlack = 1000_us;  // and this for what the program does in between
constexpr double kMostlyOver = 0.5;  // with less than this part left the next one counts

}  // namespace

bool LoadTracker::Running::runs(Seconds now) const {
  return still_runs(end.value, plan->predicted.value, now.value);
}

bool LoadTracker::Running::mirrors(const TransferRequest& asked) const {
  return plan->source == asked.destination && plan->destination == asked.source &&
         as_large(plan->bytes.value, asked.bytes.value);
}

bool LoadTracker::Running::goes_the_same_way(const TransferRequest& asked) const {
  return plan->source == asked.source && plan->destination == asked.destination;
}

void LoadTracker::Running::meet_way_back() {
  back_until = end + plan->predicted * kComesBack + kSlack;
}

LoadTracker::LoadTracker(const Machine& machine, std::unique_ptr<NodeLedger> ledger)
    : machine_(machine), resources_(machine_), ledger_(std::move(ledger)) {}

void LoadTracker::add(StreamHandle stream, PlanPointer plan, Seconds now,
                      const Contention& contention) {
  const std::scoped_lock lock(mutex_);
  const TransferRequest asked{stream, plan->source, plan->destination, plan->bytes};
  begin_episode(*plan, now);
  Running& running = running_[stream];
  running.queued = running.plan && running.end - now > running.plan->predicted * kMostlyOver;
  // Else what predictions are off by would add up from round to round.
  running.end = (running.plan && running.runs(now) ? running.end : now) + plan->predicted;
  running.back_until = {};
  if (ledger_ && running.plan != plan) running.entry = entry_of(*plan);
  running.plan = std::move(plan);
  running.called = now;
  running.thread = std::this_thread::get_id();
  running.for_both_ways = contention.both_ways != BothWays::no;
  note_size(*running.plan);
  meet(stream, running, now);
  if (contention.meets_way_back) running.meet_way_back();
  for (auto& [other_stream, other] : running_)
    if (other_stream != stream && other.runs(now) && other.mirrors(asked))
      other.meet_way_back(), running.meet_way_back();
  if (!ledger_) return;
  running.entry.set = contention.set_name;
  publish(now);
}

bool LoadTracker::is_in_flight(const Way& way, Seconds now) const {
  return std::any_of(running_.begin(), running_.end(), [&](const auto& entry) {
    return entry.second.runs(now) && way_of(*entry.second.plan) == way;
  });
}

// Notes which transfers are in flight beside each other. One thread does not call twice at the same
// moment, unless its clock is a simulated one that several lanes have to themselves.
void LoadTracker::meet(StreamHandle stream, const Running& transfer, Seconds now) {
  const Way way = way_of(*transfer.plan);
  History& own = histories_[way];
  for (const auto& [other_stream, other] : running_) {
    const Way others = way_of(*other.plan);
    if (other_stream == stream || others == way || !other.runs(now)) continue;
    const bool beside = other.thread != transfer.thread || now <= other.called;
    History& theirs = histories_[others];
    const bool mine = note(other, Came::first, own.episodes, beside, own.met[others]);
    const bool other_s = note(transfer, Came::second, theirs.episodes, beside, theirs.met[way]);
    if (mine || other_s) ++changes_;
  }
}

// The order of arrival stays as it was when they met: rounds that follow closely are not told
// apart. Returns whether the overlap is more than one like the last, in the next round or the same.
bool LoadTracker::note(const Running& transfer, Came came, int episode, bool by_threads,
                       Overlap& overlap) {
  const bool is_news = !overlap.plan || episode - overlap.episode > 1 || transfer.queued ||
                       (by_threads && !overlap.by_threads);
  if (!overlap.plan || episode - overlap.episode > kRemembered)
    overlap.came_first = came == Came::first;
  // Counting a plan's holders takes it from the other thread's cache.
  if (overlap.plan != transfer.plan) overlap.plan = transfer.plan;
  overlap.episode = episode;
  if (transfer.queued) overlap.queued_episode = episode;
  overlap.by_threads = overlap.by_threads || by_threads;
  return is_news;
}

// Whether the calling thread issues that one, as far as is known.
bool LoadTracker::same_thread(const Running& other, const TransferRequest& asked,
                              Seconds now) const {
  if (other.thread != std::this_thread::get_id() || now <= other.called) return false;
  const auto own = histories_.find({asked.source, asked.destination});
  if (own == histories_.end()) return true;
  const auto met = own->second.met.find(way_of(*other.plan));
  return met == own->second.met.end() || !met->second.by_threads;
}

// The next episode of this way, or the one that goes on.
int LoadTracker::episode_of(const Way& way, Seconds now) const {
  return histories_.at(way).episodes + (is_in_flight(way, now) ? 0 : 1);
}

// True of a transfer that will soon be over, if it is known to come again: the next one counts
// instead.
bool LoadTracker::gives_place(const Running& running, const TransferRequest& asked,
                              Seconds now) const {
  if (running.end - now > running.plan->predicted * kMostlyOver) return false;
  const Way own{asked.source, asked.destination};
  const auto found = histories_.find(own);
  if (found == histories_.end()) return false;
  const auto met = found->second.met.find(way_of(*running.plan));
  return met != found->second.met.end() &&
         episode_of(own, now) - met->second.episode <= kRemembered;
}

// Adds the transfers that met the last ones of this way and are not there yet, or will be there
// again.
void LoadTracker::expect(const TransferRequest& asked, Seconds now, bool queues, ByWay& concurrent,
                         Contention& contention) const {
  const Way own{asked.source, asked.destination}, back{asked.destination, asked.source};
  const auto found = histories_.find(own);
  if (found == histories_.end()) {
    contention.followers_unknown = !concurrent.empty() || contention.both_ways != BothWays::no;
    return;
  }
  const int episode = episode_of(own, now);
  for (const auto& [way, overlap] : found->second.met) {
    if (episode - overlap.episode > kRemembered) continue;
    const bool queued = queues || episode - overlap.queued_episode <= kRemembered;
    const auto there = concurrent.find(way);
    if (there != concurrent.end()) {
      there->second.queued |= queued;
    } else if (way == back && as_large(overlap.plan->bytes.value, asked.bytes.value)) {
      contention.both_ways =
          queues || overlap.by_threads ? BothWays::by_threads : BothWays::by_one_thread;
    } else {
      ConcurrentTransfer other_transfer = concurrent_transfer_of(*overlap.plan);
      other_transfer.queued = queued;
      other_transfer.same_thread = !overlap.by_threads;
      add(other_transfer, concurrent);
    }
  }
}

ConcurrentTransfer LoadTracker::concurrent_transfer_of(const Plan& plan) {
  return {plan.source, plan.destination, size_class(plan.bytes), nullptr};
}

// Of several that go the same way the largest counts.
void LoadTracker::add(const ConcurrentTransfer& other_transfer, ByWay& concurrent) {
  const Way way{other_transfer.source, other_transfer.destination};
  const auto [known, is_new] = concurrent.try_emplace(way, other_transfer);
  if (!is_new && known->second.bytes < other_transfer.bytes) known->second = other_transfer;
}

// One in flight on another stream that goes another way.
void LoadTracker::look_at(const Running& running, const TransferRequest& asked, Seconds now,
                          bool queues, ByWay& concurrent, Contention& contention) const {
  const bool in_flight = running.runs(now);
  const bool mirrors = running.mirrors(asked);
  const bool same = same_thread(running, asked, now);
  if (mirrors && (in_flight || running.back_until > now))
    contention.both_ways = queues || !same ? BothWays::by_threads : BothWays::by_one_thread;
  // The other way natively is taken to be as this one: to plan for both is then careful. A transfer
  // that was planned for both has this one in its plan.
  const bool native = running.plan->executor() == Executor::native;
  if (mirrors && (native || running.for_both_ways)) return;
  if (!in_flight || gives_place(running, asked, now)) return;
  ConcurrentTransfer other_transfer = concurrent_transfer_of(*running.plan);
  if (!native) other_transfer.plan = running.plan;
  other_transfer.in_flight = true;
  other_transfer.queued = queues || running.queued;
  other_transfer.same_thread = same;
  add(other_transfer, concurrent);
}

// The set that recurs with other processes has a name, which must be published to them.
bool LoadTracker::has_met_processes(const Way& way) const {
  const auto history = histories_.find(way);
  return history != histories_.end() && !history->second.foreign.empty();
}

Contention LoadTracker::contention_of(const TransferRequest& asked, Seconds now, Depth depth) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(running_, [&](const auto& entry) {
    return std::max(entry.second.end, entry.second.back_until) <= now;
  });
  Contention contention;
  if (ledger_) look_at_others(asked, now, contention);
  ByWay concurrent;
  // A program that queues on one stream does so on the others.
  const auto before = running_.find(asked.stream);
  const bool queues = before != running_.end() && before->second.end > now;
  for (const auto& [stream, running] : running_) {
    if (stream == asked.stream) continue;
    if (running.goes_the_same_way(asked)) contention.meets_same_way |= running.runs(now);
    else look_at(running, asked, now, queues, concurrent, contention);
  }
  expect(asked, now, queues, concurrent, contention);
  if (depth == Depth::full || has_met_processes({asked.source, asked.destination}))
    recognise(asked, now, concurrent, contention);
  // One more than are looked at says that there are too many.
  for (const auto& [way, other_transfer] : concurrent)
    if (contention.load.size() <= kMostConcurrent) contention.load.push_back(other_transfer);
  return contention;
}

}  // namespace polypath
