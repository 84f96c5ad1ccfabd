#include "core/cpus.h"

namespace polypath {

CpuSet::CpuSet() { CPU_ZERO(&set_); }

CpuSet CpuSet::of_caller() {
  CpuSet cpus;
  if (sched_getaffinity(0, sizeof cpus.set_, &cpus.set_) != 0) CPU_ZERO(&cpus.set_);
  return cpus;
}

int CpuSet::count() const { return CPU_COUNT(&set_); }

bool CpuSet::operator==(const CpuSet& other) const { return CPU_EQUAL(&set_, &other.set_); }

}  // namespace polypath
