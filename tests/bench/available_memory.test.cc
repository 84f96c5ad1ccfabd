// What simulated bytes may take is what this computer really has.

#include "bench/available_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace polypath::bench::room_test {
namespace {

Bytes pages(int name) {
  return {static_cast<std::uint64_t>(sysconf(name)) *
          static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))};
}

TEST(Room, IsNoMoreThanThereIs) {
  EXPECT_LE(memory_of_this_computer(), pages(_SC_PHYS_PAGES));
  EXPECT_GT(memory_of_this_computer(), 1_MiB);
  EXPECT_LE(free_memory(), memory_of_this_computer());
  EXPECT_GT(free_memory(), 0_B);
}

}  // namespace
}  // namespace polypath::bench::room_test
