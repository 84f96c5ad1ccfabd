#include "engine/load/running_transfers.h"

#include <algorithm>

#include "engine/load/load_times.h"

namespace polypath::engine {
namespace {

constexpr double kComesBack = 2;     // within so many times its own time
constexpr Seconds kSlack = 1000_us;  // and this for what the program does in between
constexpr double kMostlyOver = 0.5;  // with less than this part left the next one counts

}  // namespace

void RunningTransfer::follow(PlanPointer next, Seconds now, BothWays both_ways) {
  queued = plan && !is_mostly_over(now);
  // Else what predictions are off by would add up from round to round.
  end = (plan && runs(now) ? end : now) + next->predicted;
  back_until = {};
  plan = std::move(next);
  called = now;
  thread = std::this_thread::get_id();
  for_both_ways = both_ways != BothWays::no;
}

bool RunningTransfer::runs(Seconds now) const {
  return still_runs(end.value, plan->predicted.value, now.value);
}

bool RunningTransfer::is_mostly_over(Seconds now) const {
  return end - now <= plan->predicted * kMostlyOver;
}

bool RunningTransfer::mirrors(const TransferRequest& asked) const {
  return plan->source == asked.destination && plan->destination == asked.source &&
         as_large(plan->bytes.value, asked.bytes.value);
}

bool RunningTransfer::goes_the_same_way(const TransferRequest& asked) const {
  return way_of(*plan) == way_of(asked);
}

void RunningTransfer::meet_way_back() { back_until = end + plan->predicted * kComesBack + kSlack; }

void RunningTransfer::end_early(Seconds now) {
  if (back_until > Seconds{}) back_until = back_until - (end - now);
  end = now;
}

void RunningTransfers::meet_ways_back(StreamHandle stream, Seconds now) {
  RunningTransfer& own = by_stream_.at(stream);
  const TransferRequest asked{stream, own.plan->source, own.plan->destination, own.plan->bytes};
  for (auto& [other_stream, other] : by_stream_)
    if (other_stream != stream && other.runs(now) && other.mirrors(asked))
      other.meet_way_back(), own.meet_way_back();
}

void RunningTransfers::forget_over(Seconds now) {
  std::erase_if(by_stream_, [&](const auto& entry) {
    return std::max(entry.second.end, entry.second.back_until) <= now;
  });
}

std::vector<RunningTransfer*> RunningTransfers::unfinished_of(const IsIdle& is_idle,
                                                              TransferNumber newest, Seconds now) {
  std::vector<RunningTransfer*> unfinished;
  for (auto& [stream, transfer] : by_stream_)
    if (transfer.number <= newest && transfer.end > now && is_idle(stream, transfer.thread))
      unfinished.push_back(&transfer);
  return unfinished;
}

bool RunningTransfers::are_in_flight(const Way& way, Seconds now) const {
  return std::any_of(begin(), end(), [&](const auto& entry) {
    return entry.second.runs(now) && way_of(*entry.second.plan) == way;
  });
}

bool RunningTransfers::has(const Way& way) const {
  return std::any_of(begin(), end(),
                     [&](const auto& entry) { return way_of(*entry.second.plan) == way; });
}

bool RunningTransfers::is_busy(StreamHandle stream, Seconds now) const {
  const auto found = by_stream_.find(stream);
  return found != by_stream_.end() && found->second.end > now;
}

}  // namespace polypath::engine
