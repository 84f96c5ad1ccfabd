#include "engine/load/contention_query.h"

#include <utility>

#include "engine/load/load_times.h"

namespace polypath::engine {
namespace {

ConcurrentTransfer concurrent_transfer_of(const Plan& plan) {
  return {plan.source, plan.destination, size_class(plan.bytes), nullptr};
}

}  // namespace

void ContentionQuery::look_at(const RunningTransfers& running) {
  queues_ = running.is_busy(asked_.stream, now_);
  for (const auto& [stream, transfer] : running) {
    if (stream == asked_.stream) continue;
    if (transfer.goes_the_same_way(asked_)) contention_.meets_same_way |= transfer.runs(now_);
    else look_at(transfer);
  }
}

// One in flight on another stream that goes another way.
void ContentionQuery::look_at(const RunningTransfer& running) {
  const bool in_flight = running.runs(now_);
  const bool mirrors = running.mirrors(asked_);
  const bool same = is_of_same_thread(running);
  if (mirrors && (in_flight || running.back_until > now_))
    contention_.both_ways = queues_ || !same ? BothWays::by_threads : BothWays::by_one_thread;
  // The other way natively is taken to be as this one: to plan for both is then careful. A transfer
  // that was planned for both has this one in its plan.
  const bool native = running.plan->executor() == Executor::native;
  if (mirrors && (native || running.for_both_ways)) return;
  if (!in_flight || gives_place(running)) return;
  ConcurrentTransfer other_transfer = concurrent_transfer_of(*running.plan);
  if (!native) other_transfer.plan = running.plan;
  other_transfer.in_flight = true;
  other_transfer.queued = queues_ || running.queued;
  other_transfer.same_thread = same;
  add(other_transfer);
}

// Whether the calling thread issues that one, as far as is known.
bool ContentionQuery::is_of_same_thread(const RunningTransfer& other) const {
  if (other.thread != std::this_thread::get_id() || now_ <= other.called) return false;
  const TransferHistory* history = histories_.find(own());
  if (history == nullptr) return true;
  const auto met = history->met.find(way_of(*other.plan));
  return met == history->met.end() || !met->second.by_threads;
}

// True of a transfer that will soon be over, if it is known to come again: the next one counts
// instead.
bool ContentionQuery::gives_place(const RunningTransfer& running) const {
  return running.is_mostly_over(now_) &&
         histories_.lately_met(own(), way_of(*running.plan), now_) != nullptr;
}

void ContentionQuery::expect() {
  const TransferHistory* history = histories_.find(own());
  if (history == nullptr) {
    contention_.followers_unknown = !concurrent_.empty() || contention_.both_ways != BothWays::no;
    return;
  }
  const int episode = histories_.episode_of(own(), now_);
  for (const auto& [way, overlap] : history->met)
    if (TransferHistories::remembers(overlap.episode, episode))
      expect(way, overlap, TransferHistories::remembers(overlap.queued_episode, episode));
}

void ContentionQuery::expect(const Way& way, const Overlap& overlap, bool was_queued) {
  const bool queued = queues_ || was_queued;
  const auto there = concurrent_.find(way);
  if (there != concurrent_.end()) {
    there->second.queued |= queued;
  } else if (way == back() && as_large(overlap.plan->bytes.value, asked_.bytes.value)) {
    contention_.both_ways =
        queues_ || overlap.by_threads ? BothWays::by_threads : BothWays::by_one_thread;
  } else {
    ConcurrentTransfer other_transfer = concurrent_transfer_of(*overlap.plan);
    other_transfer.queued = queued;
    other_transfer.same_thread = !overlap.by_threads;
    add(other_transfer);
  }
}

// Of several that go the same way the largest counts.
void ContentionQuery::add(const ConcurrentTransfer& other_transfer) {
  const Way way{other_transfer.source, other_transfer.destination};
  const auto [known, is_new] = concurrent_.try_emplace(way, other_transfer);
  if (!is_new && known->second.bytes < other_transfer.bytes) known->second = other_transfer;
}

Contention ContentionQuery::contention() && {
  // One more than are looked at says that there are too many.
  for (const auto& [way, other_transfer] : concurrent_)
    if (contention_.load.size() <= kMostConcurrent) contention_.load.push_back(other_transfer);
  return std::move(contention_);
}

}  // namespace polypath::engine
