// Memory of pools: given out and taken back in the order of streams, open to its own GPU.

#include "standin/program.h"
#include "support/layers.h"

namespace polypath::test::pools_test {
namespace {

class StandInPools : public StandIn {
 protected:
  static DevicePointer allocate(StreamPointer stream, std::size_t bytes = kLarge) {
    DevicePointer memory = 0;
    EXPECT_EQ(cu("cuMemAllocAsync", &memory, bytes, stream), 0);
    return memory;
  }
  static Result give_back(DevicePointer memory, StreamPointer stream) {
    return cu("cuMemFreeAsync", memory, stream);
  }
  static void* default_pool(int gpu) {
    void* pool = nullptr;
    EXPECT_EQ(cu("cuDeviceGetDefaultMemPool", &pool, gpu), 0);
    return pool;
  }
  static int access(void* pool, int gpu) {
    int flags = 99;
    cuda::MemoryLocation location;
    location.id = gpu;
    EXPECT_EQ(cu("cuMemPoolGetAccess", &flags, pool, &location), 0);
    return flags;
  }
};

TEST_F(StandInPools, TheSameStreamGetsTheSameMemoryAgainAtOnce) {
  const StreamPointer own = stream(), other = stream();
  const DevicePointer first = allocate(own);
  ASSERT_EQ(give_back(first, own), 0);

  const DevicePointer again = allocate(own);
  const DevicePointer of_other = allocate(other);

  EXPECT_EQ(again, first);
  EXPECT_NE(of_other, first);
  EXPECT_EQ(give_back(again, own), 0);
  EXPECT_EQ(give_back(of_other, other), 0);
  EXPECT_EQ(cu("cuStreamSynchronize", own), 0);
  EXPECT_EQ(cu("cuStreamSynchronize", other), 0);
}

TEST_F(StandInPools, OtherStreamsGetItOnceThatStreamIsOverIt) {
  const StreamPointer own = stream(), other = stream();
  const DevicePointer first = allocate(own);
  ASSERT_EQ(give_back(first, own), 0);
  ASSERT_EQ(cu("cuStreamSynchronize", own), 0);

  const DevicePointer of_other = allocate(other);

  EXPECT_EQ(of_other, first);
  EXPECT_EQ(give_back(of_other, other), 0);
  EXPECT_EQ(cu("cuStreamSynchronize", other), 0);
}

TEST_F(StandInPools, WhatWasGivenBackIsNotUsed) {
  const StreamPointer own = stream();
  const DevicePointer memory = allocate(own);
  void* to = pinned(kSmall);
  ASSERT_EQ(give_back(memory, own), 0);

  EXPECT_EQ(cu("cuMemcpyDtoHAsync_v2", to, memory, kSmall, own), cuda::kInvalidValue);
  EXPECT_EQ(give_back(memory, own), cuda::kInvalidValue);
  EXPECT_EQ(cu("cuMemFree_v2", memory), cuda::kInvalidValue);
  EXPECT_EQ(cu("cuStreamSynchronize", own), 0);
}

TEST_F(StandInPools, GiveMemoryToThoseTheyAreOpenedTo) {
  const StreamPointer own = stream();
  const DevicePointer memory = allocate(own, kSmall);
  const Contents bytes = pattern(kSmall, 1);
  ASSERT_EQ(cu("cuStreamSynchronize", own), 0);
  write(memory, bytes);
  use(1);
  Contents got(kSmall);
  void* to = got.data();
  EXPECT_EQ(cu("cuMemcpyDtoH_v2", to, memory, kSmall), cuda::kInvalidValue);
  EXPECT_EQ(access(default_pool(0), 1), 0);

  cuda::MemoryUser user;
  user.location.id = 1;
  ASSERT_EQ(cu("cuMemPoolSetAccess", default_pool(0), &user, std::size_t{1}), 0);

  EXPECT_EQ(access(default_pool(0), 1), 3);
  EXPECT_EQ(read(memory, kSmall), bytes);
  use(0);
  user.access = 0;
  ASSERT_EQ(cu("cuMemPoolSetAccess", default_pool(0), &user, std::size_t{1}), 0);
  EXPECT_EQ(cu("cuMemFree_v2", memory), 0);
}

TEST_F(StandInPools, AreOfNoContext) {
  constexpr int kContext = 1, kOrdinal = 9, kIpcCapable = 10, kPool = 17;
  const StreamPointer own = stream();
  const DevicePointer memory = allocate(own, kSmall);
  const auto attribute = [&](int which) {
    std::uint64_t value = 0;
    void* where = &value;
    EXPECT_EQ(cu("cuPointerGetAttribute", where, which, memory), 0);
    return value;
  };

  EXPECT_EQ(attribute(kContext), 0U);
  EXPECT_EQ(attribute(kOrdinal), 0U);
  EXPECT_EQ(attribute(kIpcCapable), 0U);
  EXPECT_EQ(attribute(kPool), reinterpret_cast<std::uintptr_t>(default_pool(0)));
  EXPECT_EQ(give_back(memory, own), 0);
  EXPECT_EQ(cu("cuStreamSynchronize", own), 0);
}

}  // namespace
}  // namespace polypath::test::pools_test
