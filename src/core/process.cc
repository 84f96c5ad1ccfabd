#include "core/process.h"

#include <pthread.h>

#include <atomic>

namespace polypath {
namespace {

std::atomic<int> generation{0};

bool count_forks() {
  pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
  return true;
}

}  // namespace

int process_generation() {
  static const bool counting = count_forks();
  (void)counting;
  return generation.load(std::memory_order_relaxed);
}

}  // namespace polypath
