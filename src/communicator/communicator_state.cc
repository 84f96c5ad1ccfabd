#include "communicator/communicator_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "communicator/bootstrap/deadline.h"
#include "communicator/bootstrap/ranks.h"
#include "core/error.h"
#include "core/process.h"

namespace polypath {

CommunicatorState::CommunicatorState(Agreement agreed, ControlBlock block, int own_rank,
                                     Seconds timeout)
    : rank(own_rank),
      agreement(std::move(agreed)),
      ranks_(agreement.nodes.ranks_on(agreement.nodes.of(rank))),
      local_(agreement.nodes.local_rank(rank)),
      timeout_(timeout.value),
      generation_(process_generation()),
      block_(std::move(block)),
      log_(block_, ranks_, local_) {}

int CommunicatorState::rank_of(int local) const { return ranks_[static_cast<std::size_t>(local)]; }

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
  ++watched_;
  if (!closed_)
    new_.push_back({.call = call, .is_done = std::move(is_done), .since = Clock::now()});
}

void CommunicatorState::doubt(Communicator::Doubt doubt) {
  check_usable();
  const std::scoped_lock looking(looking_);
  doubts_.push_back(std::move(doubt));
}

void CommunicatorState::on_abort(Communicator::Callback callback) {
  check_usable();
  {
    const std::scoped_lock lock(mutex_);
    if (!told_) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

void CommunicatorState::abort(ErrorCode code, const std::string& why) {
  check_usable();
  block_.abort(local_, code, why);
  tell_aborted();
}

void CommunicatorState::check() {
  check_usable();
  throw_if_aborted();
}

void CommunicatorState::throw_if_aborted() {
  if (!block_.is_aborted()) return;
  tell_aborted();
  if (const auto abort = block_.aborted()) throw Error(abort->code, abort->why);
}

// The objects that are called back may be destroyed once this is closed, so closing waits until all
// are told.
void CommunicatorState::tell_aborted() {
  std::unique_lock lock(mutex_);
  told_ = true;
  const std::vector<Communicator::Callback> callbacks = std::exchange(callbacks_, {});
  if (callbacks.empty()) return;
  ++telling_;
  lock.unlock();
  for (const Communicator::Callback& callback : callbacks) callback();
  lock.lock();
  --telling_;
  all_told_.notify_all();
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
    std::unique_lock lock(mutex_);
    if (std::exchange(closed_, true)) return;
    new_.clear();
    callbacks_.clear();
    if (const auto difference = log_.compare_with_slower())
      block_.abort(local_, ErrorCode::invalid_argument, *difference);
    all_told_.wait(lock, [this] { return telling_ == 0; });
  }
  under_way_.clear();
  doubts_.clear();
  block_.leave(local_);
}

}  // namespace polypath
