#pragma once
// A program on the stand-in: contexts of two GPUs, memory, and ways to see what is in it.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "standin/driver_api.h"
#include "support/bytes.h"

namespace polypath::test {

using cuda::ContextPointer;
using cuda::Device;
using cuda::DevicePointer;
using cuda::EventPointer;
using cuda::Result;
using cuda::StreamPointer;

constexpr std::size_t kSmall = 4096;
constexpr std::size_t kLarge = std::size_t{8} << 20;

class StandIn : public testing::Test {
 protected:
  void SetUp() override {
    unsetenv("CUDA_VISIBLE_DEVICES");
    ASSERT_EQ(cu("cuInit", 0U), 0);
    for (int gpu = 0; gpu < 2; ++gpu)
      ASSERT_EQ(cu("cuDevicePrimaryCtxRetain", &contexts_[gpu], gpu), 0);
    ASSERT_EQ(cu("cuCtxPushCurrent_v2", contexts_[0]), 0);
  }

  void TearDown() override {
    ContextPointer popped = nullptr;
    cu("cuCtxPopCurrent_v2", &popped);
    for (int gpu = 0; gpu < 2; ++gpu) cu("cuDevicePrimaryCtxRelease_v2", gpu);
  }

  void use(int gpu) { ASSERT_EQ(cu("cuCtxSetCurrent", contexts_[gpu]), 0); }

  /// Device memory of a GPU; given back with its context.
  DevicePointer device(std::size_t bytes, int gpu = 0) {
    DevicePointer pointer = 0;
    use(gpu);
    EXPECT_EQ(cu("cuMemAlloc_v2", &pointer, bytes), 0);
    use(0);
    return pointer;
  }
  DevicePointer device(const Contents& contents, int gpu = 0) {
    const DevicePointer pointer = device(contents.size(), gpu);
    write(pointer, contents);
    return pointer;
  }
  unsigned char* pinned(std::size_t bytes) {
    void* pointer = nullptr;
    EXPECT_EQ(cu("cuMemHostAlloc", &pointer, bytes, 0U), 0);
    return static_cast<unsigned char*>(pointer);
  }
  StreamPointer stream(unsigned flags = cuda::kStreamNonBlocking) {
    StreamPointer made = nullptr;
    EXPECT_EQ(cu("cuStreamCreate", &made, flags), 0);
    return made;
  }
  EventPointer event(unsigned flags = 0) {
    EventPointer made = nullptr;
    EXPECT_EQ(cu("cuEventCreate", &made, flags), 0);
    return made;
  }

  /// Through pageable memory; complete when they return.
  static void write(DevicePointer to, const Contents& contents) {
    const void* from = contents.data();
    EXPECT_EQ(cu("cuMemcpyHtoD_v2", to, from, contents.size()), 0);
  }
  static Contents read(DevicePointer from, std::size_t bytes) {
    Contents contents(bytes);
    void* to = contents.data();
    EXPECT_EQ(cu("cuMemcpyDtoH_v2", to, from, bytes), 0);
    return contents;
  }

  static DevicePointer address(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
  }

  ContextPointer contexts_[2] = {};
};

}  // namespace polypath::test
