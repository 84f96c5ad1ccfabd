#pragma once
// The owner of a GPU in exclusive-process mode: one context of one process may be on it, as with
// CUDA. A lock of the kernel marks the owner; it goes with the process however it ends.

#include <map>

#include "standin/facts/gpus.h"

namespace polypath::standin {

class Owners {
 public:
  explicit Owners(bool exclusive) : exclusive_(exclusive) {}

  [[nodiscard]] bool exclusive() const { return exclusive_; }
  /// A context of this process is on the GPU from now on. Refuses (device unavailable) if there is
  /// one, here or in another process of the same user and temporary folder.
  void take(const Gpu& gpu);
  void give_back(const Gpu& gpu);

 private:
  bool exclusive_;
  std::map<std::size_t, int> files_;  ///< locked ones, by the GPU's index
};

}  // namespace polypath::standin
