#pragma once
// Copies that went as they were because there was no session yet.
//
// A program may issue all copies of a second before the session is there, as nvbandwidth does with
// its first twenty of 512 MiB. They tell what is to be prepared as well as later ones do.

#include <cstddef>
#include <vector>

#include "api/preload/program_copy.h"
#include "api/preload/real_driver.h"
#include "core/brief_mutex.h"

namespace polypath::preload {

/// Copies of one kind.
struct EarlyCopies {
  ProgramCopy copy;
  StreamHome home;  ///< of their stream, which may be gone since
  int count = 1;
};

/// Thread-safe.
class EarlyCopyList {
 public:
  /// Counts a copy. The driver is asked about the first one of a kind, and there are few kinds.
  void note(const ProgramCopy& copy) noexcept;
  /// Those noted so far.
  [[nodiscard]] std::vector<EarlyCopies> take();

 private:
  static constexpr std::size_t kMost = 16;

  BriefMutex mutex_;
  std::vector<EarlyCopies> kinds_;
};

}  // namespace polypath::preload
