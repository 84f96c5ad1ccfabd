#include "core/process.h"

#include <pthread.h>

#include <atomic>

#include "core/files.h"

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

std::string program_name() {
  constexpr std::size_t kMost = 64;
  std::string name = read_file("/proc/self/comm", kMost).value_or("");
  if (name.ends_with('\n')) name.pop_back();
  return name;
}

}  // namespace polypath
