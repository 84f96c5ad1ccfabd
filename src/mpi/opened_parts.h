#pragma once
// Parts of a window on GPUs as this process reaches them: its own as they are, those of other ranks
// opened when they are first used.

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "mpi/device_elements.h"
#include "mpi/window_board.h"

namespace polypath::mpi {

/// Thread-safe.
class OpenedParts {
 public:
  /// `open` must outlive it.
  OpenedParts(const Open& open, int rank) : open_(open), rank_(rank) {}
  OpenedParts(const OpenedParts&) = delete;
  OpenedParts& operator=(const OpenedParts&) = delete;
  ~OpenedParts() { close(); }

  /// This rank's memory, as others open it. Error (unsupported) if they cannot.
  std::pair<WindowPart, ExportedMemory> exported(Address begin, std::uint64_t bytes);
  /// Where an address of the part is. Errors: those of Driver::import_memory().
  Reached reach(int target, const WindowPart& part, Address address);
  /// Work of this rank's own in the default stream of its part's GPU is over then.
  void settle();
  /// Waits for nothing: all copies are over.
  void close() noexcept;

 private:
  struct Opened {
    const Surroundings* around;
    Address begin;
    PlaceId gpu;
    bool is_imported;
  };
  [[nodiscard]] Opened open(int target, const WindowPart& part);
  [[nodiscard]] PlaceId copying_gpu(const Surroundings& around) const;

  const Open& open_;
  int rank_;
  std::mutex mutex_;  ///< guards the members below
  Address own_;       ///< memory of this rank on a GPU; 0: there is none
  std::map<std::pair<int, std::uint64_t>, Opened> opened_;
};

}  // namespace polypath::mpi
