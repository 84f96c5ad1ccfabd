#include "communicator/communicator_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "communicator/bootstrap/deadline.h"
#include "communicator/bootstrap/ranks.h"
#include "core/error.h"
#include "core/process.h"

namespace polypath::communicator {

CommunicatorState::CommunicatorState(Agreement agreed, ControlBlock block, int own_rank,
                                     Seconds timeout)
    : rank(own_rank),
      agreement(std::move(agreed)),
      local_(agreement.nodes.local_rank(rank)),
      generation_(process_generation()),
      block_(std::move(block)),
      log_(block_, agreement.nodes.ranks_on(agreement.nodes.of(rank)), local_),
      under_way_(agreement.nodes, rank, block_, timeout) {}

// Before anything is touched: a forked child has neither the memory nor, perhaps, the locks.
void CommunicatorState::check_usable() const {
  if (process_generation() != generation_)
    fail(ErrorCode::invalid_argument, "This communicator cannot be used here",
         "the process was forked after it was made", "Make communicators after forking.");
}

CallNumber CommunicatorState::begin(const CallRecord& call) {
  check_usable();
  throw_if_aborted();
  std::optional<std::string> difference;
  CallNumber number = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (closed_)
      fail(ErrorCode::invalid_argument, fmt::format("Rank {} cannot call {}", rank, describe(call)),
           "its communicator is closed");
    number = log_.enter(call);
    difference = log_.compare();
  }
  if (difference) abort(ErrorCode::invalid_argument, *difference);
  throw_if_aborted();
  return number;
}

void CommunicatorState::watch(CallNumber call, Communicator::Question is_done) {
  check_usable();
  const std::scoped_lock lock(mutex_);
  ++new_.watched;
  if (!closed_)
    new_.calls.push_back(
        {.call = call, .is_done = std::move(is_done), .since = CallUnderWay::Clock::now()});
}

void CommunicatorState::doubt(Communicator::Doubt doubt) {
  check_usable();
  const std::scoped_lock looking(looking_);
  under_way_.doubt(std::move(doubt));
}

void CommunicatorState::on_abort(Communicator::Callback callback) {
  check_usable();
  callbacks_.add(std::move(callback));
}

void CommunicatorState::abort(ErrorCode code, const std::string& why) {
  check_usable();
  block_.abort(local_, code, why);
  callbacks_.tell();
}

void CommunicatorState::check() {
  check_usable();
  throw_if_aborted();
}

void CommunicatorState::throw_if_aborted() {
  if (!block_.is_aborted()) return;
  callbacks_.tell();
  if (const auto abort = block_.aborted()) throw Error(abort->code, abort->why);
}

std::optional<std::string> CommunicatorState::difference_to_slower() {
  const std::scoped_lock lock(mutex_);
  return log_.compare_with_slower();
}

void CommunicatorState::note_settled() { block_.note_settled(local_); }

bool CommunicatorState::await_settled(Seconds timeout) {
  const Deadline deadline(timeout);
  for (int other = 0; other < block_.ranks(); ++other)
    while (other != local_ && !block_.is_settled(other)) {
      if (deadline.has_passed()) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  return true;
}

// The calls that other ranks have not reached are compared for the last time: those ranks can still
// be told.
void CommunicatorState::close() {
  if (process_generation() != generation_) return;
  const std::scoped_lock looking(looking_);
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(closed_, true)) return;
    new_.calls.clear();
    callbacks_.forget();
    if (const auto difference = log_.compare_with_slower())
      block_.abort(local_, ErrorCode::invalid_argument, *difference);
  }
  callbacks_.await_told();
  under_way_.clear();
  under_way_.clear_doubts();
  block_.leave(local_);
}

bool CommunicatorState::look() noexcept {
  const std::scoped_lock looking(looking_);
  take_new();
  if (const auto error = under_way_.forget_done())
    block_.abort(local_, error->code(), error->what());
  if (under_way_.empty()) {
    // After an abort nothing is looked at any more, over or not.
    if (!block_.is_aborted()) block_.note_over(local_, under_way_.over_once_empty());
    return false;
  }
  if (!block_.is_aborted()) look_for_problems();
  if (!block_.is_aborted()) return true;
  under_way_.clear();
  callbacks_.tell();
  return false;
}

void CommunicatorState::take_new() {
  const std::scoped_lock lock(mutex_);
  under_way_.take(new_, log_.latest());
}

void CommunicatorState::look_for_problems() {
  if (const auto difference = difference_to_slower()) {
    block_.abort(local_, ErrorCode::invalid_argument, *difference);
    return;
  }
  if (const auto error = under_way_.find_problem())
    block_.abort(local_, error->code(), error->what());
}

}  // namespace polypath::communicator
