#include "engine/load/load_tracker.h"

#include <utility>
#include <vector>

namespace polypath::engine {
namespace {

constexpr double kRoom = 1.02;  // of a capacity, for what rounding adds

}  // namespace

LoadTracker::LoadTracker(const Machine& machine, std::unique_ptr<NodeLedger> ledger)
    : machine_(machine),
      resources_(machine_),
      ledger_(std::move(ledger)),
      histories_(running_),
      sets_(histories_, ledger_.get()) {
  if (ledger_) exchange_.emplace(resources_, *ledger_, histories_);
}

void LoadTracker::add(StreamHandle stream, PlanPointer plan, Seconds now,
                      const Contention& contention) {
  const std::scoped_lock lock(mutex_);
  const Way way = way_of(*plan);
  if (exchange_) exchange_->note(way);
  histories_.begin_episode(way, now);
  RunningTransfer& running = running_.of(stream);
  if (exchange_ && running.plan != plan) running.entry = exchange_->entry_of(*plan);
  running.follow(std::move(plan), now, contention.both_ways);
  running.number = ++issued_;
  newest_.store(issued_, std::memory_order_release);
  histories_.note_size(*running.plan);
  histories_.meet(stream, running, now);
  if (contention.meets_way_back) running.meet_way_back();
  running_.meet_ways_back(stream, now);
  if (!exchange_) return;
  running.entry.set = contention.set_name;
  exchange_->publish(running_, now);
}

Contention LoadTracker::contention_of(const TransferRequest& asked, Seconds now, Depth depth) {
  const std::scoped_lock lock(mutex_);
  forget_over(now);
  ContentionQuery query(asked, now, histories_,
                        exchange_ ? exchange_->contention_of(asked, now) : Contention{});
  query.look_at(running_);
  query.expect();
  SetFinder::Found found;
  // The set that recurs with other processes has a name, which must be published to them.
  if (depth == Depth::full || histories_.has_met_processes(query.own())) found = sets_.find(query);
  Contention contention = std::move(query).contention();
  contention.set = std::move(found.set);
  contention.set_name = found.name;
  return contention;
}

void LoadTracker::forget_over(Seconds now) {
  running_.forget_over(now);
  if (running_.empty()) newest_.store(0, std::memory_order_release);
}

// What is over is forgotten in any case, so that later calls need not look.
void LoadTracker::note_idle(const IsIdle& is_idle, TransferNumber newest, Seconds now) {
  if (newest == 0) return;
  const std::scoped_lock lock(mutex_);
  const std::vector<RunningTransfer*> ended = running_.unfinished_of(is_idle, newest, now);
  for (RunningTransfer* each : ended) {
    each->end_early(now);
    if (exchange_) exchange_->note_end(*each, now);
  }
  forget_over(now);
  if (exchange_ && !ended.empty()) exchange_->publish(running_, now);
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

}  // namespace polypath::engine
