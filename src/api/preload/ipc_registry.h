#pragma once
// Where processes of one user on one node tell each other what their CUDA IPC handles stand for: a
// folder with one small file per exported allocation.
//
// An entry that might be wrong is ignored. The folder and its files must belong to this user, and
// no other user may write to them; an entry must carry the whole handle that is asked for, and its
// exporter must still run, with the start time that it had. Withdrawn entries are gone. A killed
// process's entries are invalid, and the next exporter removes them.

#include <optional>
#include <string>

#include "api/preload/ipc_entry.h"
#include "core/user_folder.h"

namespace polypath::preload {

/// Thread-safe, and safe among processes: entries appear and change as a whole. Keeps nothing open:
/// see UserFolder.
class IpcRegistry {
 public:
  /// Opens the folder, or makes it with access for this user only. See `problem`.
  explicit IpcRegistry(const std::string& folder);
  IpcRegistry(const IpcRegistry&) = delete;
  IpcRegistry& operator=(const IpcRegistry&) = delete;

  /// Why it cannot be used, in words; empty if it can. Then nothing is published or found.
  [[nodiscard]] const std::string& problem() const { return folder_.problem(); }

  /// Makes the entry visible, in place of an earlier one for the same handle. False if it could not
  /// be written; the earlier one is gone even so.
  bool publish(const ExportedMemory& memory);
  /// Removes the entry for a handle, if it is there and names this process as the exporter.
  void withdraw(const cuda::IpcHandle& handle);
  /// The allocation of the handle; none if there is no valid entry.
  [[nodiscard]] std::optional<ExportedMemory> find(const cuda::IpcHandle& handle) const;
  /// Removes invalid entries: damaged ones, and those of processes that have ended. Returns how
  /// many.
  int sweep();

 private:
  UserFolder folder_;
};

}  // namespace polypath::preload
