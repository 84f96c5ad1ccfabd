// The watching thread's work on a communicator.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "communicator/bootstrap/ranks.h"
#include "communicator/communicator_state.h"

namespace polypath {
namespace {

// A program that ends before its communicator is closed has mostly done its part.
constexpr std::chrono::seconds kGrace{1};

// Problems of ranks on other nodes are not seen here: the rank that waits for their messages
// reports them first.
constexpr std::chrono::seconds kForOtherNodes{1};

constexpr const char* kFindOut = "Find out what became of that rank.";

}  // namespace

bool CommunicatorState::look() noexcept {
  const std::scoped_lock looking(looking_);
  take_new();
  forget_done();
  if (under_way_.empty()) {
    // After an abort nothing is looked at any more, over or not.
    if (!block_.is_aborted()) block_.note_over(local_, over_once_done_);
    return false;
  }
  if (!block_.is_aborted()) look_for_problems();
  if (!block_.is_aborted()) return true;
  under_way_.clear();
  tell_aborted();
  return false;
}

void CommunicatorState::take_new() {
  const std::scoped_lock lock(mutex_);
  // A call that has begun and is not watched yet may be queued in part.
  if (watched_ == log_.latest()) over_once_done_ = watched_;
  std::move(new_.begin(), new_.end(), std::back_inserter(under_way_));
  new_.clear();
}

// Calls end in order, so the calls after one that is under way are not queried: a query costs the
// enqueueing thread time. A call that cannot be queried has failed. All ranks are told, because a
// look throws nothing.
void CommunicatorState::forget_done() {
  const UnderWay* asked = nullptr;
  const auto is_under_way = [&](const UnderWay& one) {
    asked = &one;
    return !one.is_done();
  };
  try {
    const auto first = std::find_if(under_way_.begin(), under_way_.end(), is_under_way);
    if (first == under_way_.begin()) return;
    under_way_.erase(under_way_.begin(), first);
    for (UnderWay& one : under_way_) one.since = Clock::now();
  } catch (const Error& error) {
    block_.abort(local_, error.code(),
                 fmt::format("Rank {} has failed in call {} ({})", rank, describe_call(asked->call),
                             error.what()));
  }
}

void CommunicatorState::look_for_problems() {
  if (const auto difference = difference_to_slower()) {
    block_.abort(local_, ErrorCode::invalid_argument, *difference);
    return;
  }
  for (const Communicator::Doubt& doubt : doubts_)
    if (const auto error = doubt()) {
      block_.abort(local_, error->code(), error->what());
      return;
    }
  if (const std::string why = problem(); !why.empty())
    block_.abort(local_, ErrorCode::communicator, why);
}

// Empty if there is none.
std::string CommunicatorState::problem() {
  for (int other = 0; other < block_.ranks(); ++other) {
    if (other == local_) continue;
    std::string why = problem_with(other);
    if (!why.empty()) return why;
  }
  return overdue();
}

// Whether it has gone is asked first: the calls that it had entered by then are final.
std::string CommunicatorState::problem_with(int other) {
  const bool left = block_.has_left(other);
  const bool ended = !left && !block_.lives(other);
  if (!left && !ended) return {};
  const CallNumber entered = block_.entered(other);
  for (UnderWay& one : under_way_) {
    if (one.call > entered)
      return fmt::format("Rank {} has {} before call {} ({}) {}", rank_of(other),
                         left ? "left the communicator" : "ended", describe_call(one.call),
                         left ? "its communicator is closed" : "its process is gone", kFindOut);
    if (!ended) continue;
    if (!one.bereft) one.bereft = Clock::now();
    if (Clock::now() - *one.bereft > kGrace)
      return fmt::format("Rank {} has ended in call {} (its process is gone) {}", rank_of(other),
                         describe_call(one.call), kFindOut);
  }
  return {};
}

std::string CommunicatorState::overdue() const {
  const std::chrono::duration<double> timeout(timeout_);
  for (const UnderWay& one : under_way_) {
    const auto waited = Clock::now() - one.since;
    if (waited < timeout) continue;
    if (agreement.nodes.count() > 1 && missing(one.call).empty() &&
        waited < timeout + kForOtherNodes)
      continue;
    return fmt::format(
        "After {:g} s there is no end of call {} ({}) Find out what they wait for, or set "
        "POLYPATH_COMMUNICATOR_TIMEOUT to more seconds.",
        timeout.count(), describe_call(one.call), who_is_missing(one.call));
  }
  return {};
}

std::string CommunicatorState::describe_call(CallNumber call) const {
  const auto record = block_.call_of(local_, call);
  return record ? fmt::format("{}, {}", call, describe(*record)) : std::to_string(call);
}

std::vector<int> CommunicatorState::missing(CallNumber call) const {
  std::vector<int> ranks;
  for (int other = 0; other < block_.ranks(); ++other)
    if (block_.entered(other) < call) ranks.push_back(rank_of(other));
  return ranks;
}

std::string CommunicatorState::who_is_missing(CallNumber call) const {
  const std::vector<int> late = missing(call);
  std::string who = late.empty() ? "all ranks of this node have come to it"
                                 : describe_ranks(late) + " did not come to it";
  if (agreement.nodes.count() > 1) who += "; ranks of other nodes cannot be seen from here";
  return who;
}

}  // namespace polypath
