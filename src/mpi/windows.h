#pragma once
// The windows of this process for which the layer does something.

#include <atomic>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "mpi/window.h"

namespace polypath::mpi {

/// The program's MPI_Win_create.
struct NewWindow {
  void* memory = nullptr;
  Count bytes = 0;
  Count unit = 1;
  Handle comm = 0;
  void* window = nullptr;  ///< where the program wants its handle

  /// True if MPI refuses it, which no other rank knows.
  [[nodiscard]] bool is_wrong() const { return bytes < 0 || unit <= 0 || window == nullptr; }
};

/// Thread-safe as far as MPI is.
class Windows {
 public:
  /// `serves`: whether the ranks of a communicator are all on this computer, under Polypath; all of
  /// them ask. `wait` is called while other ranks are waited for. `library` must outlive it.
  Windows(const Library& library, Open open, GpuOf gpu_of, std::function<bool(Handle comm)> serves,
          std::function<void()> wait);
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  /// `real` makes the window with other memory.
  using RealCreate = std::function<Result(void* memory, Count bytes)>;
  /// A window with memory of GPUs is made at all ranks, or each returns an error: MPI's where MPI
  /// has one.
  Result create(const NewWindow& wanted, const RealCreate& real);
  Result create_dynamic(Handle comm, void* window, const RealSync& real);
  Result attach(Handle window, void* memory, Count bytes, const RealSync& real);
  Result detach(Handle window, const void* memory, const RealSync& real);
  Result free(Handle window, const RealSync& real);
  /// MPI_WIN_BASE and MPI_WIN_SIZE of a part on a GPU; false: MPI knows the attribute.
  [[nodiscard]] bool attribute(Handle window, int keyval, void* value, int* is_there);

  /// True without a question for calls that are MPI's.
  [[nodiscard]] bool is_plain_call(const OneSidedCall& call) const;
  Result call(const OneSidedCall& call, const RealOneSided& real, void* request);
  /// `with` synchronises a window that is known here; else MPI does.
  using Synchronise = std::function<Result(Window& window)>;
  Result synchronise(Handle window, const Synchronise& with, const RealSync& real);

  /// MPI is about to end. All ranks let go of their windows in one order.
  void end() noexcept;
  [[nodiscard]] const OneSidedCounts& counts() const { return counts_; }

 private:
  [[nodiscard]] std::shared_ptr<Window> find(Handle window) const;
  std::shared_ptr<Window> keep(Handle window, std::unique_ptr<DeviceWindow> device);
  Result keep_if_made(Handle comm, const void* window, Result made,
                      std::unique_ptr<DeviceWindow> device);
  [[nodiscard]] std::unique_ptr<DeviceWindow> device_window(Handle comm) const;
  [[nodiscard]] bool are_mpis() const;  ///< windows on GPUs
  [[nodiscard]] bool is_served(Handle comm) const;
  /// The bits that any rank of the communicator says; waits for all.
  [[nodiscard]] unsigned said_by_any(Handle comm, unsigned mine) const;
  [[nodiscard]] bool is_on_gpu(const void* memory, Count bytes) const;
  Result create_on_gpus(const NewWindow& wanted, bool is_here, const RealCreate& real);
  Result create_without_memory(Handle comm, const RealCreate& real) const;
  Result refuse(Handle comm, const char* why) const;
  Result fail(Handle window, const char* what, const char* why) const;

  const Library& library_;
  Open open_;
  GpuOf gpu_of_;
  std::function<bool(Handle)> serves_;
  std::function<void()> wait_;
  OneSidedCounts counts_;
  OneSidedCalls calls_;
  std::atomic<int> count_{0};
  mutable std::shared_mutex mutex_;  ///< guards the member below
  std::unordered_map<Handle, std::shared_ptr<Window>> known_;
};

}  // namespace polypath::mpi
