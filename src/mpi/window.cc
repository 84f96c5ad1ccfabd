#include "mpi/window.h"

#include <iterator>

#include "mpi/kept_request.h"

namespace polypath::mpi {

std::optional<Reached> Window::target_of(const OneSidedCall& call) {
  if (device_ == nullptr) return std::nullopt;
  const Range range = range_of(library_, call.target_type, call.target_count);
  return device_->reach(call.target, call.displacement, range);
}

// No elements of a part on a GPU may be anywhere.
bool Window::is_nothing(const OneSidedCall& call) const {
  return call.target_count == 0 && is_on_gpu(call.target) && !is_mpis(call.target);
}

Result Window::run(const OneSidedCall& call, const RealOneSided& real, void* request) {
  if (is_nothing(call))
    return request == nullptr ? kSuccess : give_completed_request(library_, request);
  const auto target = target_of(call);
  if (!target && !calls_.is_from_gpu(call)) return real(as_it_is(call, request));
  const Result result =
      target ? run_on_gpu(call, real, *target) : stage(call, real, request != nullptr);
  if (result != kSuccess || request == nullptr) return result;
  return give_completed_request(library_, request);
}

Result Window::run_on_gpu(const OneSidedCall& call, const RealOneSided& real,
                          const Reached& target) {
  counts_.count(call.operation, OneSidedCounts::Fate::ours);
  if (call.target_count <= 0) return kSuccess;
  const auto alone = call.is_atomic() ? device_->hold(call.target) : nullptr;
  return calls_.on_gpu(call, real, target);
}

// Without a request the copies are MPI's until the window is synchronised.
Result Window::stage(const OneSidedCall& call, const RealOneSided& real, bool waits) {
  counts_.count(call.operation, OneSidedCounts::Fate::staged);
  Staged staged{.target = call.target, .sides = calls_.copied(call, open_(GpusOf::process))};
  Instead instead = staged.sides.instead_of(call);
  Handle request = 0;
  if (waits) instead.request = &request;
  const Result result = real(instead);
  if (result != kSuccess) return result;
  if (waits) return wait_for(staged.sides, request);
  const std::scoped_lock lock(mutex_);
  staged_.push_back(std::move(staged));
  return kSuccess;
}

Result Window::wait_for(const HostSides& sides, Handle request) const {
  const Result result = library_.real.Wait(&request, library_.status_ignore);
  if (result == kSuccess) sides.result.write();
  return result;
}

void Window::take(int target) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(staged_, [&](const Staged& each) {
    if (target >= 0 && each.target != target) return false;
    each.sides.result.write();
    return true;
  });
}

Result Window::fence(const RealSync& real) {
  if (device_ != nullptr) device_->settle();
  const Result result = real();
  if (result != kSuccess) return result;
  if (device_ != nullptr) device_->barrier();
  take(-1);
  return kSuccess;
}

Result Window::post(Handle group, const RealSync& real) {
  if (device_ != nullptr) device_->settle();
  const Result result = real();
  if (result == kSuccess && device_ != nullptr) device_->tell(group);
  return result;
}

Result Window::start(Handle group, const RealSync& real) {
  if (device_ != nullptr) device_->hear(group);
  return real();
}

Result Window::complete(const RealSync& real) {
  const Result result = real();
  if (result == kSuccess) take(-1);
  return result;
}

Result Window::wait(const RealSync& real, const std::function<bool()>& is_over) {
  const Result result = real();
  if (result == kSuccess && device_ != nullptr && is_over()) device_->end_telling();
  return result;
}

// The lock for the part on a GPU first, at every rank: no two wait for each other.
Result Window::lock(int target, bool is_alone, const RealSync& real) {
  if (is_on_gpu(target))
    device_->lock(target, is_alone ? RankLock::Mode::exclusive : RankLock::Mode::shared);
  if (!is_mpis(target)) return kSuccess;
  ++locks_;
  return real();
}

Result Window::unlock(int target, const RealSync& real) {
  Result result = kSuccess;
  if (is_mpis(target)) {
    result = real();
    --locks_;
  }
  if (result == kSuccess) take(target);
  if (is_on_gpu(target)) device_->unlock(target);
  return result;
}

Result Window::lock_all(const RealSync& real) {
  for (int target = 0; device_ != nullptr && target < device_->size(); ++target)
    if (is_on_gpu(target)) device_->lock(target, RankLock::Mode::shared);
  ++locks_;
  return real();
}

Result Window::unlock_all(const RealSync& real) {
  const Result result = real();
  if (result == kSuccess) take(-1);
  for (int target = 0; device_ != nullptr && target < device_->size(); ++target)
    if (is_on_gpu(target)) device_->unlock(target);
  --locks_;
  return result;
}

Result Window::flush(int target, const RealSync& real) {
  const Result result = is_mpis(target) ? real() : kSuccess;
  if (result == kSuccess) take(target);
  return result;
}

// Where this rank has locks of GPUs only, MPI knows of none.
Result Window::flush_all(const RealSync& real) {
  const Result result = device_ == nullptr || locks_ > 0 ? real() : kSuccess;
  if (result == kSuccess) take(-1);
  return result;
}

Result Window::sync(const RealSync& real) {
  if (device_ != nullptr) device_->settle();
  return device_ == nullptr || locks_ > 0 ? real() : kSuccess;
}

}  // namespace polypath::mpi
