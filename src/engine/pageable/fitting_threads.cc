#include "engine/pageable/fitting_threads.h"

#include <algorithm>
#include <utility>

#include "core/cpus.h"

namespace polypath::engine {
namespace {

// Of the whole computer: other threads of the program may use other CPUs than this one.
int all_cpus(int most) { return std::clamp(threads_of_computer(), 1, most); }

}  // namespace

bool FittingThreads::pay() const {
  return chosen_ > 0 || CpuSet::of_caller().threads() >= least_cpus_;
}

bool FittingThreads::are_there() const {
  const std::scoped_lock lock(mutex_);
  return threads_ != nullptr;
}

// Made without the lock, because others only look for them.
void FittingThreads::start() {
  if (are_there()) return;
  auto started = std::make_unique<CopyThreads>(chosen_ > 0 ? chosen_ : all_cpus(most_));
  const std::scoped_lock lock(mutex_);
  if (!threads_) threads_ = std::move(started);
}

CopyThreads& FittingThreads::of_caller() {
  const std::scoped_lock lock(mutex_);
  if (chosen_ == 0) threads_->follow(CpuSet::of_caller());
  return *threads_;
}

}  // namespace polypath::engine
