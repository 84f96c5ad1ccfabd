#pragma once
// The CPUs that a thread may use.

#include <sched.h>

namespace polypath {

class CpuSet {
 public:
  /// None.
  CpuSet();
  /// Those of the calling thread; none where the system does not say.
  static CpuSet of_caller();

  [[nodiscard]] int count() const;
  [[nodiscard]] const cpu_set_t& get() const { return set_; }
  bool operator==(const CpuSet& other) const;

 private:
  cpu_set_t set_;
};

}  // namespace polypath
