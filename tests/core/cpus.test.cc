// CPU sets of computers with more CPUs than cpu_set_t has room for.

#include "core/cpus.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "support/layers.h"

namespace polypath::test::cpus_test {
namespace {

std::size_t kernel_bytes = 0;  // of a computer with that many possible CPUs; 0: this one

}  // namespace
}  // namespace polypath::test::cpus_test

// In place of the C library's, as the kernel of a large computer does it: of its CPUs every 64th
// may be used.
extern "C" int sched_getaffinity(pid_t thread, std::size_t bytes, cpu_set_t* set) noexcept {
  const std::size_t possible = polypath::test::cpus_test::kernel_bytes;
  if (possible == 0) {
    const long written = syscall(SYS_sched_getaffinity, thread, bytes, set);
    if (written < 0) return -1;
    std::memset(reinterpret_cast<char*>(set) + written, 0,
                bytes - static_cast<std::size_t>(written));
    return 0;
  }
  if (bytes < possible) {
    errno = EINVAL;
    return -1;
  }
  std::memset(set, 0, bytes);
  for (std::size_t word = 0; word < possible / sizeof(unsigned long); ++word)
    reinterpret_cast<unsigned long*>(set)[word] = 1;
  return 0;
}

namespace polypath::test::cpus_test {
namespace {

TEST(CpuSet, HasMoreThanAFixedSetHasRoomFor) {
  for (const std::size_t cpus : {1024U, 2048U, 8192U}) {
    kernel_bytes = cpus / 8;
    EXPECT_EQ(CpuSet::of_caller().count(), static_cast<int>(cpus / 64)) << cpus;
  }
  kernel_bytes = 0;
}

TEST(CpuSet, IsTheCallersOwn) {
  const CpuSet before = CpuSet::of_caller();
  ASSERT_GE(before.count(), 1);

  std::thread([&] {
    EXPECT_EQ(CpuSet::of_caller(), before);
    EXPECT_TRUE(CpuSet::all().bind(pthread_self()));
    EXPECT_GE(CpuSet::of_caller().count(), before.count());
    EXPECT_TRUE(before.bind(pthread_self()));
    EXPECT_EQ(CpuSet::of_caller(), before);
  }).join();
}

TEST(CpuSet, OfNobodyIsEmpty) {
  EXPECT_EQ(CpuSet().count(), 0);
  EXPECT_EQ(CpuSet(), CpuSet());
}

TEST(CpuSet, NoMoreThreadsRunThanThereAreCpus) {
  EXPECT_GE(CpuSet::of_caller().threads(), 1);
  EXPECT_LE(CpuSet::of_caller().threads(), CpuSet::of_caller().count());
  EXPECT_GE(threads_of_computer(), 1);
}

}  // namespace
}  // namespace polypath::test::cpus_test
