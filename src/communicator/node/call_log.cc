#include "communicator/node/call_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text.h"

namespace polypath::communicator {
namespace {

constexpr const char* kRemedy = "Every rank must make the same calls in the same order.";
constexpr std::size_t kLooksBackEvery = 64;  // calls

}  // namespace

CallLog::CallLog(ControlBlock& block, std::vector<int> ranks, int local)
    : block_(block), ranks_(std::move(ranks)), local_(local), compared_(ranks_.size()) {}

CallNumber CallLog::enter(const CallRecord& call) {
  const CallWords words = words_of(call);
  hash_ = chain(hash_, words);
  const Stamp stamp = Stamp::of(++latest_, hash_);
  block_.publish(local_, latest_, stamp, words);
  kept_.push_back({stamp, words});
  return latest_;
}

std::optional<std::string> CallLog::compare() {
  const Stamp mine = kept_.back().stamp;
  bool all_here = true;
  for (int other = 0; other < block_.ranks(); ++other) {
    if (other == local_) continue;
    const Stamp theirs = block_.stamp_of(other, latest_);
    if (theirs == mine) compared_[static_cast<std::size_t>(other)] = latest_;
    else if (theirs.is_same_call(mine)) return difference(other, latest_);
    else all_here = false;
  }
  if (all_here) kept_.clear();
  else if (kept_.size() % kLooksBackEvery == 0) return compare_with_slower();
  return std::nullopt;
}

std::optional<std::string> CallLog::compare_with_slower() {
  for (int other = 0; other < block_.ranks(); ++other) {
    const CallNumber theirs = block_.entered(other);
    CallNumber& compared = compared_[static_cast<std::size_t>(other)];
    if (other == local_ || theirs <= compared || theirs > latest_) continue;
    if (theirs < first_kept()) continue;  // no rank counts backwards: the memory is damaged
    const Stamp stamp = block_.stamp_of(other, theirs);
    const Stamp mine = kept(theirs).stamp;
    if (!stamp.is_same_call(mine)) continue;  // it has gone on by more than the ring since
    if (stamp != mine) return difference(other, theirs);
    compared = theirs;
  }
  forget_what_all_have();
  return std::nullopt;
}

const CallLog::Kept& CallLog::kept(CallNumber call) const { return kept_[call - first_kept()]; }

// A rank that is ahead compares with this rank.
void CallLog::forget_what_all_have() {
  CallNumber all_have = latest_;
  for (int other = 0; other < block_.ranks(); ++other)
    if (other != local_ && block_.entered(other) <= latest_)
      all_have = std::min(all_have, compared_[static_cast<std::size_t>(other)]);
  while (!kept_.empty() && first_kept() <= all_have) kept_.pop_front();
}

std::string CallLog::difference(int other, CallNumber last) const {
  const int they = ranks_[static_cast<std::size_t>(other)];
  const int we = ranks_[static_cast<std::size_t>(local_)];
  const CallNumber same = compared_[static_cast<std::size_t>(other)];
  const CallNumber first = std::max(same + 1, first_kept());
  for (CallNumber call = first; call <= last; ++call) {
    const auto theirs = block_.call_of(other, call);
    const CallRecord mine = communicator::call_of(kept(call).words);
    if (theirs && *theirs != mine)
      return fmt::format("{} (call {}: they differ in {}) {}",
                         describe_difference(they, *theirs, we, mine), call,
                         join(differences(*theirs, mine), ", "), kRemedy);
  }
  return fmt::format("Ranks {} and {} have made different calls (one of calls {} to {}) {}", they,
                     we, first, last, kRemedy);
}

}  // namespace polypath::communicator
