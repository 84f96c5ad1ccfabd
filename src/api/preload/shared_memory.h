#pragma once
// Memory that this process shares with others by CUDA IPC handles: its exports are published, and
// its imports are looked up.

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "api/preload/ipc_registry.h"
#include "driver/cuda/imports.h"

namespace polypath::preload {

/// Thread-safe. Nothing here fails: memory that cannot be published or looked up stays unknown, and
/// copies of it are left to the driver.
class SharedMemory {
 public:
  /// Entries that a process may have without a look whether what they stand for is still there.
  static constexpr std::size_t kFewExports = 16;

  explicit SharedMemory(const std::string& folder, cuda::Imports& imports);
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// This process's, in the usual folder, with its imports; made when first asked for, and never
  /// destroyed.
  static SharedMemory& of_process();
  /// The same, if it has been made.
  static SharedMemory* existing();

  /// The driver has given out a handle for the allocation that contains `address`.
  void exported(const cuda::IpcHandle& handle, cuda::DevicePointer address) noexcept;
  /// The program is about to free what begins at `address`. Not every way of freeing leads here:
  /// then the entry goes with a later export, at the latest when there are kFewExports, or more
  /// than twice as many as there is exported memory; or with the process.
  void freeing(cuda::DevicePointer address) noexcept;

  /// The facts known about a handle before it is opened.
  [[nodiscard]] std::optional<ExportedMemory> look_up(const cuda::IpcHandle& handle) noexcept;
  /// The driver has mapped it at `base`, in the current context; `before` is what look_up said.
  void opened(const cuda::IpcHandle& handle, const std::optional<ExportedMemory>& before,
              cuda::DevicePointer base) noexcept;
  /// The program is about to unmap `base`. Waits for copies of ours that use the memory.
  void closing(cuda::DevicePointer base) noexcept;

  /// Withdraws everything that this process has published.
  void end() noexcept;
  /// In a forked child: forgets what its parent has published, without a lock.
  void forget() noexcept { exports_.store(0, std::memory_order_release); }

 private:
  [[nodiscard]] std::optional<ExportedMemory> describe(const cuda::IpcHandle& handle,
                                                       cuda::DevicePointer address) const;
  [[nodiscard]] cuda::ImportedMemory import_of(const cuda::IpcHandle& handle,
                                               const std::optional<ExportedMemory>& entry,
                                               cuda::DevicePointer base) const;

  /// The handles that have been given out for one allocation.
  struct Exported {
    std::uint64_t generation = 0;
    std::vector<cuda::IpcHandle> handles;
  };

  void withdraw(const Exported& exported);
  void withdraw_earlier(const ExportedMemory& memory);
  void withdraw_freed();

  IpcRegistry registry_;
  cuda::Imports& imports_;
  std::mutex mutex_;
  /// Allocations: freeing costs nothing where there are none.
  std::atomic<std::size_t> exports_{0};
  std::map<std::uint64_t, Exported> exports_by_base_;
  std::size_t look_again_at_ = kFewExports;  ///< see withdraw_freed
};

}  // namespace polypath::preload
