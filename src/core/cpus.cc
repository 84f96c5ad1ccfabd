#include "core/cpus.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "core/cpu_quota.h"

namespace polypath {
namespace {

constexpr std::size_t kMostWords = (1 << 16) / (8 * sizeof(unsigned long));

int within_quota(int cpus) {
  static const std::optional<int> quota = cpu_quota();
  return quota ? std::min(cpus, *quota) : cpus;
}

}  // namespace

// A set smaller than the kernel's own is refused, which may have more CPUs than cpu_set_t.
CpuSet CpuSet::of_caller() {
  CpuSet cpus;
  for (std::size_t words = CPU_SETSIZE / (8 * sizeof(unsigned long)); words <= kMostWords;
       words *= 2) {
    cpus.words_.assign(words, 0);
    auto* set = reinterpret_cast<cpu_set_t*>(cpus.words_.data());
    const int status = sched_getaffinity(0, words * sizeof(unsigned long), set);
    if (status == 0) break;
    cpus.words_.clear();
    if (errno != EINVAL) break;
  }
  while (!cpus.words_.empty() && cpus.words_.back() == 0) cpus.words_.pop_back();
  return cpus;
}

CpuSet CpuSet::all() {
  CpuSet cpus;
  cpus.words_.assign(kMostWords, ~0UL);
  return cpus;
}

int CpuSet::count() const {
  int count = 0;
  for (const unsigned long word : words_) count += std::popcount(word);
  return count;
}

int CpuSet::threads() const { return within_quota(count()); }

bool CpuSet::bind(pthread_t thread) const {
  const auto* set = reinterpret_cast<const cpu_set_t*>(words_.data());
  return pthread_setaffinity_np(thread, words_.size() * sizeof(unsigned long), set) == 0;
}

int threads_of_computer() { return within_quota(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))); }

}  // namespace polypath
