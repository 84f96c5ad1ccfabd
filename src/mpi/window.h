#pragma once
// A window of the program's for which the layer does something: one with memory of GPUs, or one in
// the host that calls with memory of GPUs use.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "mpi/device_window.h"
#include "mpi/one_sided_calls.h"

namespace polypath::mpi {

/// MPI's own function, with the program's arguments.
using RealSync = std::function<Result()>;

/// Thread-safe as far as MPI is.
class Window {
 public:
  /// `device`: null, if it has no memory of GPUs. What is handed over must outlive it.
  Window(const Library& library, const Open& open, OneSidedCalls& calls, OneSidedCounts& counts,
         std::unique_ptr<DeviceWindow> device)
      : library_(library),
        open_(open),
        calls_(calls),
        counts_(counts),
        device_(std::move(device)) {}

  [[nodiscard]] DeviceWindow* device() { return device_.get(); }
  /// A call that may be MPI's, without a request or with one.
  Result run(const OneSidedCall& call, const RealOneSided& real, void* request);

  Result fence(const RealSync& real);
  Result post(Handle group, const RealSync& real);
  Result start(Handle group, const RealSync& real);
  Result complete(const RealSync& real);
  /// MPI_Win_wait and MPI_Win_test: `is_over` is asked after MPI's.
  Result wait(const RealSync& real, const std::function<bool()>& is_over);
  Result lock(int target, bool is_alone, const RealSync& real);
  Result unlock(int target, const RealSync& real);
  Result lock_all(const RealSync& real);
  Result unlock_all(const RealSync& real);
  Result flush(int target, const RealSync& real);
  Result flush_all(const RealSync& real);
  Result sync(const RealSync& real);

 private:
  /// A call of MPI's with copies of what is a GPU's.
  struct Staged {
    int target;
    HostSides sides;
  };

  [[nodiscard]] bool is_nothing(const OneSidedCall& call) const;
  [[nodiscard]] std::optional<Reached> target_of(const OneSidedCall& call);
  Result run_on_gpu(const OneSidedCall& call, const RealOneSided& real, const Reached& target);
  Result stage(const OneSidedCall& call, const RealOneSided& real, bool waits);
  Result wait_for(const HostSides& sides, Handle request) const;
  /// What calls to the target have brought is in the program's memory then; negative: to all.
  void take(int target);
  [[nodiscard]] bool is_mpis(int target) const {
    return device_ == nullptr || device_->has_hosts(target);
  }
  [[nodiscard]] bool is_on_gpu(int target) const {
    return device_ != nullptr && device_->has_gpus(target);
  }

  const Library& library_;
  const Open& open_;
  OneSidedCalls& calls_;
  OneSidedCounts& counts_;
  std::unique_ptr<DeviceWindow> device_;
  std::atomic<int> locks_ = 0;  ///< of MPI's that this rank has
  std::mutex mutex_;            ///< guards the member below
  std::vector<Staged> staged_;
};

}  // namespace polypath::mpi
