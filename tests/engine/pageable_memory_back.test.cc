// When a pageable copy that has failed on its way returns, no thread touches the program's memory
// any more: the program may have unmapped it.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "core/error.h"
#include "support/processes.h"
#include "support/rig.h"

namespace polypath::test::pageable_memory_back_test {
namespace {

constexpr std::size_t kBytes = 1 << 20;  // sixteen windows

// One thread, the caller's: what it has been given but has not copied stays to be copied.
Settings one_thread() {
  Settings settings = window_settings();
  settings.copy_threads = 1;
  return settings;
}

// Makes a copy during which the n-th use of a driver call and all later ones fail; unmaps the
// program's memory; and ends the engine, which finishes what it still has to do. 0 if that goes
// well, whether the copy did or not; a process that touches the memory dies.
int fail_and_unmap(bool inward, sim::Call failing, int nth) {
  Rig rig("beluga", one_thread());
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const Address pageable{reinterpret_cast<std::uintptr_t>(memory)};
  rig.driver().add_pageable(pageable, Bytes{kBytes});
  const Address device = rig.buffer("gpu0", kBytes).address;
  const Address to = inward ? device : pageable, from = inward ? pageable : device;
  rig.driver().fail_from(failing, nth);
  try {
    rig.engine().copy({to, from, Bytes{kBytes}, rig.stream("gpu0"), {0}, {}});
  } catch (const Error&) {
  }
  rig.driver().clear_faults();
  rig.synchronize();
  munmap(memory, kBytes);
  rig.destroy_engines();
  return 0;
}

class PageableMemoryBack : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Ways, PageableMemoryBack, testing::Bool(),
                         [](const auto& of) { return of.param ? "IsNotRead" : "IsNotWritten"; });

TEST_P(PageableMemoryBack, WhenWindowsCannotBeSent) {
  EXPECT_EQ(exit_status_of([] { return fail_and_unmap(GetParam(), sim::Call::copy, 1); }), 0);
}

// Some of the questions come while windows that have arrived are being emptied.
TEST_P(PageableMemoryBack, WhenNobodyCanSayWhatHasArrived) {
  for (int nth = 1; nth <= 48; ++nth)
    EXPECT_EQ(exit_status_of([&] { return fail_and_unmap(GetParam(), sim::Call::is_done, nth); }),
              0)
        << "question " << nth;
}

}  // namespace
}  // namespace polypath::test::pageable_memory_back_test
