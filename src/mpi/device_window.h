#pragma once
// A window that has memory of GPUs, of ranks that are all on this computer.
//
// Every rank opens the others' memory, and a call is over when it returns: the origin has copied
// the bytes, and the target takes no part in it. What is left of synchronisation is that ranks wait
// for each other. MPI's own window does most of that. It has nothing of the parts on GPUs.
//
//   fence          MPI's, and then a barrier: MPI's need not be one
//   start          waits for a message of every target, which its post sends: MPI's need not wait
//   lock           a lock of the target's in shared memory, for its part on a GPU
//   flush          nothing

#include <compare>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "mpi/opened_parts.h"

namespace polypath::mpi {

/// An order of the windows that all their ranks find alike: when rank 0 has begun it, by the
/// computer's clock, and which process that is.
struct WindowAge {
  std::int64_t made = 0;
  std::int64_t process = 0, file = 0;

  auto operator<=>(const WindowAge&) const = default;
};

/// The ranks of a window, by a communicator of the window's own.
struct WindowRanks {
  Handle comm = 0;
  int rank = 0, size = 1;
  WindowAge age = {};
};

/// Thread-safe as far as MPI is.
class DeviceWindow {
 public:
  /// What is handed over must outlive it; it frees the communicator.
  DeviceWindow(const Library& library, const Open& open, std::function<void()> wait,
               const WindowRanks& ranks, std::unique_ptr<WindowBoard> board);
  DeviceWindow(const DeviceWindow&) = delete;
  DeviceWindow& operator=(const DeviceWindow&) = delete;
  ~DeviceWindow();

  /// This rank's memory of a window over memory that there is. Null: its memory is MPI's.
  struct Part {
    void* memory = nullptr;
    Count bytes = 0;
    Count unit = 1;  ///< of displacements
  };
  /// All ranks make it together, of a window with such parts. True if each reaches all others'.
  [[nodiscard]] bool share(const Part& mine);
  /// This rank's part of it, with memory; null of other windows.
  [[nodiscard]] const Part* own_part() const;
  /// Of a window to which memory is attached; settles. Errors: those of Driver::export_memory(), of
  /// the streams, and of WindowBoard::publish().
  void attach(void* memory, Count bytes);
  /// False if it has not been attached here.
  bool detach(const void* memory);

  [[nodiscard]] int size() const { return ranks_.size; }
  [[nodiscard]] const WindowAge& age() const { return ranks_.age; }
  /// Waits for all ranks, of which each says whether it is so there.
  [[nodiscard]] bool is_so_at_all(bool here) const;
  /// Whether the target may have memory of a GPU in it, and MPI's. What is no rank is for MPI to
  /// answer.
  [[nodiscard]] bool has_gpus(int target) const;
  [[nodiscard]] bool has_hosts(int target) const;
  /// Where elements of that range are; none if they are MPI's. Error (invalid_argument) if they are
  /// beyond the target's part.
  [[nodiscard]] std::optional<Reached> reach(int target, Count displacement, const Range& range);

  /// Waits until no other rank makes an atomic call at the target.
  [[nodiscard]] std::unique_ptr<HeldLock> hold(int target) const;
  /// Error (invalid_argument) if this rank has it: it would wait for itself.
  void lock(int target, RankLock::Mode mode) const;
  void unlock(int target) const;
  void settle() { parts_.settle(); }
  void barrier() const;
  /// Tells the ranks of the group that this rank's memory is theirs.
  void tell(Handle group);
  /// They have heard it.
  void end_telling();
  /// Waits until the ranks of the group have said so.
  void hear(Handle group) const;
  /// All ranks make it together: none reaches another's memory afterwards.
  void close() noexcept;

 private:
  [[nodiscard]] bool is_rank(int target) const { return target >= 0 && target < ranks_.size; }
  [[nodiscard]] bool try_to_publish(const Part& mine);
  [[nodiscard]] bool try_to_open_all();
  [[nodiscard]] std::vector<int> ranks_in(Handle group) const;
  void await(Handle request) const;

  const Library& library_;
  std::function<void()> wait_;
  WindowRanks ranks_;
  std::unique_ptr<WindowBoard> board_;
  OpenedParts parts_;
  std::vector<Part> shared_;  ///< of each rank; empty: memory is attached
  std::vector<Handle> told_;
};

}  // namespace polypath::mpi
