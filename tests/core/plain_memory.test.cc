#include "core/plain_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <thread>

#include "support/layers.h"

namespace polypath::test::plain_memory_test {
namespace {

int some_data = 1, some_zeros = 0;

TEST(PlainMemory, IsTheProgramsDataHeapAndStack) {
  int local = 0;
  void* const small = std::malloc(64);  // NOLINT: of the heap

  EXPECT_TRUE(is_plain_host_memory(&some_data));
  EXPECT_TRUE(is_plain_host_memory(&some_zeros));
  EXPECT_TRUE(is_plain_host_memory(&local));
  EXPECT_TRUE(is_plain_host_memory(small));
  std::free(small);  // NOLINT
}

TEST(PlainMemory, IsEachThreadsOwnStackOnly) {
  int of_other = 0;
  bool own = false, other = true;

  std::thread([&] {
    int local = 0;
    own = is_plain_host_memory(&local);
    other = is_plain_host_memory(&of_other);
  }).join();

  EXPECT_TRUE(own);
  EXPECT_FALSE(other);
}

TEST(PlainMemory, IsNotWhatIsMapped) {
  void* const mapped =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  EXPECT_FALSE(is_plain_host_memory(mapped));
  EXPECT_FALSE(is_plain_host_memory(nullptr));
  EXPECT_FALSE(is_plain_host_memory(reinterpret_cast<void*>(1)));
  EXPECT_FALSE(is_plain_host_memory(reinterpret_cast<void*>(~std::uintptr_t{0})));
  munmap(mapped, 4096);
}

}  // namespace
}  // namespace polypath::test::plain_memory_test
