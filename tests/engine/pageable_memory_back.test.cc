// When a pageable copy has failed, nobody touches the program's memory any more: it may be
// unmapped.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "core/error.h"
#include "support/processes.h"
#include "support/rig.h"

namespace polypath::test {
namespace {

constexpr std::size_t kBytes = 1 << 20;  // sixteen windows

// One thread, the caller's: what it has been given but has not copied stays to be copied.
Settings one_thread() {
  Settings settings = window_settings();
  settings.copy_threads = 1;
  return settings;
}

// Makes a copy during which every copy of the driver fails, unmaps the program's memory, and ends
// the engine, which finishes what it still has. 0 if that goes well; who touches the memory dies.
int copy_fail_and_unmap(bool inward) {
  Rig rig("beluga", one_thread());
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const Address pageable{reinterpret_cast<std::uintptr_t>(memory)};
  rig.driver().add_pageable(pageable, Bytes{kBytes});
  const Address device = rig.buffer("gpu0", kBytes).address;
  const Address to = inward ? device : pageable, from = inward ? pageable : device;
  // Out of a GPU the first windows must arrive before there is anything to copy.
  rig.driver().fail_from(sim::Call::copy, inward ? 1 : 3);
  try {
    rig.engine().copy({to, from, Bytes{kBytes}, rig.stream("gpu0"), {0}, {}});
    return 1;
  } catch (const Error&) {
  }
  rig.driver().clear_faults();
  munmap(memory, kBytes);
  rig.destroy_engines();
  return 0;
}

TEST(PageableMemoryBack, IsNotReadAfterAFailure) {
  EXPECT_EQ(exit_status_of([] { return copy_fail_and_unmap(true); }), 0);
}

TEST(PageableMemoryBack, IsNotWrittenAfterAFailure) {
  EXPECT_EQ(exit_status_of([] { return copy_fail_and_unmap(false); }), 0);
}

}  // namespace
}  // namespace polypath::test
