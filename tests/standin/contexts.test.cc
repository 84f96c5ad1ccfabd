// Contexts: which is current, and what goes with one.

#include <thread>

#include "standin/program.h"
#include "support/layers.h"

namespace polypath::test::contexts_test {
namespace {

using standin::kContextIsDestroyed;
using standin::kInvalidContext;

class StandInContexts : public StandIn {
 protected:
  static ContextPointer current() {
    ContextPointer context = nullptr;
    EXPECT_EQ(cu("cuCtxGetCurrent", &context), 0);
    return context;
  }
  static ContextPointer retain(int gpu) {
    ContextPointer context = nullptr;
    EXPECT_EQ(cu("cuDevicePrimaryCtxRetain", &context, gpu), 0);
    return context;
  }
  static bool is_active(int gpu) {
    unsigned flags = 0;
    int active = -1;
    EXPECT_EQ(cu("cuDevicePrimaryCtxGetState", gpu, &flags, &active), 0);
    return active == 1;
  }
};

TEST_F(StandInContexts, EveryThreadHasAStackOfItsOwn) {
  ContextPointer popped = nullptr;

  ASSERT_EQ(cu("cuCtxPushCurrent_v2", contexts_[1]), 0);
  EXPECT_EQ(current(), contexts_[1]);
  std::thread([] { EXPECT_EQ(current(), nullptr); }).join();
  ASSERT_EQ(cu("cuCtxPopCurrent_v2", &popped), 0);

  EXPECT_EQ(popped, contexts_[1]);
  EXPECT_EQ(current(), contexts_[0]);
}

TEST_F(StandInContexts, SettingOneReplacesTheTop) {
  ASSERT_EQ(cu("cuCtxSetCurrent", contexts_[1]), 0);
  EXPECT_EQ(current(), contexts_[1]);
  ASSERT_EQ(cu("cuCtxSetCurrent", ContextPointer{}), 0);
  EXPECT_EQ(current(), nullptr);
  ContextPointer popped = nullptr;
  EXPECT_EQ(cu("cuCtxPopCurrent_v2", &popped), kInvalidContext);

  ASSERT_EQ(cu("cuCtxSetCurrent", contexts_[0]), 0);
}

TEST_F(StandInContexts, APrimaryContextLivesAsLongAsSomebodyHoldsIt) {
  EXPECT_FALSE(is_active(2));
  const ContextPointer first = retain(2), second = retain(2);
  EXPECT_EQ(first, second);
  EXPECT_TRUE(is_active(2));
  ASSERT_EQ(cu("cuDevicePrimaryCtxRelease_v2", 2), 0);
  EXPECT_TRUE(is_active(2));
  ASSERT_EQ(cu("cuDevicePrimaryCtxRelease_v2", 2), 0);

  EXPECT_FALSE(is_active(2));
  EXPECT_EQ(cu("cuDevicePrimaryCtxRelease_v2", 2), kInvalidContext);
  EXPECT_EQ(cu("cuCtxSetCurrent", first), kContextIsDestroyed);
}

TEST_F(StandInContexts, WhatBelongsToAContextGoesWithIt) {
  const DevicePointer own = device(kLarge);
  DevicePointer memory = 0;
  StreamPointer queue = nullptr;
  ASSERT_EQ(cu("cuCtxPushCurrent_v2", retain(2)), 0);
  ASSERT_EQ(cu("cuMemAlloc_v2", &memory, kLarge), 0);
  ASSERT_EQ(cu("cuStreamCreate", &queue, 1U), 0);
  ASSERT_EQ(cu("cuMemcpyDtoDAsync_v2", memory, own, kLarge, queue), 0);
  ContextPointer popped = nullptr;
  ASSERT_EQ(cu("cuCtxPopCurrent_v2", &popped), 0);

  ASSERT_EQ(cu("cuDevicePrimaryCtxRelease_v2", 2), 0);

  EXPECT_EQ(cu("cuStreamSynchronize", queue), standin::kInvalidHandle);
  EXPECT_EQ(cu("cuMemFree_v2", memory), cuda::kInvalidValue);
}

TEST_F(StandInContexts, OthersThanPrimaryOnesAreToldApart) {
  ContextPointer other = nullptr;
  unsigned long long first = 0, second = 0;
  Device device = -1;
  ASSERT_EQ(cu("cuCtxCreate_v2", &other, 0U, Device{0}), 0);

  EXPECT_EQ(current(), other);
  EXPECT_NE(other, contexts_[0]);
  EXPECT_EQ(cu("cuCtxGetDevice", &device), 0);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cu("cuCtxGetId", other, &first), 0);
  EXPECT_EQ(cu("cuCtxGetId", contexts_[0], &second), 0);
  EXPECT_NE(first, second);
  EXPECT_EQ(cu("cuCtxDestroy_v2", contexts_[0]), kInvalidContext);
  EXPECT_EQ(cu("cuCtxDestroy_v2", other), 0);
  EXPECT_EQ(current(), contexts_[0]);
}

TEST_F(StandInContexts, PeerAccessIsEnabledOnceAndDisabledOnce) {
  EXPECT_EQ(cu("cuCtxEnablePeerAccess", contexts_[1], 0U), 0);
  EXPECT_EQ(cu("cuCtxEnablePeerAccess", contexts_[1], 0U), cuda::kPeerAccessAlreadyEnabled);
  EXPECT_EQ(cu("cuCtxDisablePeerAccess", contexts_[1]), 0);
  EXPECT_EQ(cu("cuCtxDisablePeerAccess", contexts_[1]), standin::kPeerAccessNotEnabled);
}

}  // namespace
}  // namespace polypath::test::contexts_test
