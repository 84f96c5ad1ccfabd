#include "communicator/calls_under_way.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "communicator/bootstrap/ranks.h"

namespace polypath::communicator {
namespace {

using Clock = CallUnderWay::Clock;

// A program that ends before its communicator is closed has mostly done its part.
constexpr std::chrono::seconds kGrace{1};

// Problems of ranks on other nodes are not seen here: the rank that waits for their messages
// reports them first.
constexpr std::chrono::seconds kForOtherNodes{1};

constexpr const char* kFindOut = "Find out what became of that rank.";

}  // namespace

CallsUnderWay::CallsUnderWay(const Nodes& nodes, int rank, ControlBlock& block, Seconds timeout)
    : nodes_(nodes),
      ranks_(nodes.ranks_on(nodes.of(rank))),
      local_(nodes.local_rank(rank)),
      block_(block),
      timeout_(timeout.value) {}

void CallsUnderWay::take(NewCalls& begun, CallNumber latest) {
  // A call that has begun and is not watched yet may be queued in part.
  if (begun.watched == latest) over_once_empty_ = begun.watched;
  std::move(begun.calls.begin(), begun.calls.end(), std::back_inserter(calls_));
  begun.calls.clear();
}

// Calls end in order, so the calls after one that is under way are not queried: a query costs the
// enqueueing thread time. A look throws nothing, so all ranks are told of an error.
std::optional<Error> CallsUnderWay::forget_done() {
  const CallUnderWay* asked = nullptr;
  const auto is_under_way = [&](const CallUnderWay& one) {
    asked = &one;
    return !one.is_done();
  };
  try {
    const auto first = std::find_if(calls_.begin(), calls_.end(), is_under_way);
    if (first == calls_.begin()) return std::nullopt;
    calls_.erase(calls_.begin(), first);
    for (CallUnderWay& one : calls_) one.since = Clock::now();
  } catch (const Error& error) {
    return Error(error.code(), fmt::format("Rank {} has failed in call {} ({})", rank_of(local_),
                                           describe_call(asked->call), error.what()));
  }
  return std::nullopt;
}

std::optional<Error> CallsUnderWay::find_problem() {
  for (const Communicator::Doubt& doubt : doubts_)
    if (auto error = doubt()) return error;
  if (const std::string why = problem(); !why.empty()) return Error(ErrorCode::communicator, why);
  return std::nullopt;
}

// Empty if there is none.
std::string CallsUnderWay::problem() {
  for (int other = 0; other < block_.ranks(); ++other) {
    if (other == local_) continue;
    std::string why = problem_with(other);
    if (!why.empty()) return why;
  }
  return overdue();
}

// Whether it has gone is asked first: the calls that it had entered by then are final.
std::string CallsUnderWay::problem_with(int other) {
  const bool left = block_.has_left(other);
  const bool ended = !left && !block_.lives(other);
  if (!left && !ended) return {};
  const CallNumber entered = block_.entered(other);
  for (CallUnderWay& one : calls_) {
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

std::string CallsUnderWay::overdue() const {
  const std::chrono::duration<double> timeout(timeout_);
  for (const CallUnderWay& one : calls_) {
    const auto waited = Clock::now() - one.since;
    if (waited < timeout) continue;
    if (nodes_.count() > 1 && missing(one.call).empty() && waited < timeout + kForOtherNodes)
      continue;
    return fmt::format(
        "After {:g} s there is no end of call {} ({}) Find out what they wait for, or set "
        "POLYPATH_COMMUNICATOR_TIMEOUT to more seconds.",
        timeout.count(), describe_call(one.call), describe_missing(one.call));
  }
  return {};
}

std::string CallsUnderWay::describe_call(CallNumber call) const {
  const auto record = block_.call_of(local_, call);
  return record ? fmt::format("{}, {}", call, describe(*record)) : std::to_string(call);
}

std::vector<int> CallsUnderWay::missing(CallNumber call) const {
  std::vector<int> ranks;
  for (int other = 0; other < block_.ranks(); ++other)
    if (block_.entered(other) < call) ranks.push_back(rank_of(other));
  return ranks;
}

std::string CallsUnderWay::describe_missing(CallNumber call) const {
  const std::vector<int> late = missing(call);
  std::string who = late.empty() ? "all ranks of this node have come to it"
                                 : describe_ranks(late) + " did not come to it";
  if (nodes_.count() > 1) who += "; ranks of other nodes cannot be seen from here";
  return who;
}

}  // namespace polypath::communicator
