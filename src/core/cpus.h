#pragma once
// The CPUs that a thread may use.

#include <pthread.h>

#include <vector>

#include "core/layers.h"

namespace polypath {

class CpuSet {
 public:
  /// None.
  CpuSet() = default;
  /// Those of the calling thread; none where the system does not say.
  static CpuSet of_caller();
  /// All that a system can have.
  static CpuSet all();

  [[nodiscard]] int count() const;
  /// How many threads can run on them at a time: the quota of this process's control groups counts.
  [[nodiscard]] int threads() const;
  /// Has a thread use these and no others; false where the system does not allow it.
  bool bind(pthread_t thread) const;
  bool operator==(const CpuSet& other) const = default;

 private:
  std::vector<unsigned long> words_;  ///< as the system has them, to the last that is not 0
};

/// As many as are online, at most as the quota grants.
int threads_of_computer();

}  // namespace polypath
