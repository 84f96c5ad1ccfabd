// Which function a program gets that looks the driver's up at run time.

#include "api/preload/symbol_lookup.h"

#include <gtest/gtest.h>

#include <cstring>

#include "api/preload/driver_functions.h"

namespace polypath::preload::symbol_lookup_test {
namespace {

// Stands for whatever the real driver answers with.
int answer;
void* const kReal = &answer;

bool lacks_nothing(const char*) { return false; }
bool lacks_newest(const char* symbol) { return std::strcmp(symbol, "cuCtxSynchronize_v2") == 0; }

void* asked(const char* name, int version, bool own_stream = false) {
  return replacement_for_request(name, version, own_stream, kReal, lacks_nothing);
}

template <class Function>
void* ours(Function* function) {
  return reinterpret_cast<void*>(function);
}

// As the CUDA 12.9 and 13.0 runtimes ask.
TEST(RequestedFunctions, AreOursInBothKindsOfDefaultStream) {
  EXPECT_EQ(asked("cuMemcpyDtoDAsync", 3020), ours(&cuMemcpyDtoDAsync_v2));
  EXPECT_EQ(asked("cuMemcpyDtoDAsync", 7000, true), ours(&cuMemcpyDtoDAsync_v2_ptsz));
  EXPECT_EQ(asked("cuMemcpy", 4000), ours(&cuMemcpy));
  EXPECT_EQ(asked("cuMemcpy", 7000, true), ours(&cuMemcpy_ptds));
  EXPECT_EQ(asked("cuMemFree", 3020), ours(&cuMemFree_v2));
  EXPECT_EQ(asked("cuStreamSynchronize", 2000), ours(&cuStreamSynchronize));
  EXPECT_EQ(asked("cuStreamQuery", 7000, true), ours(&cuStreamQuery_ptsz));
  EXPECT_EQ(asked("cuCtxSynchronize", 2000, true), ours(&cuCtxSynchronize));
  EXPECT_EQ(asked("cuIpcCloseMemHandle", 4010, true), ours(&cuIpcCloseMemHandle));
}

TEST(RequestedFunctions, HaveTheFormOfTheVersionAskedFor) {
  EXPECT_EQ(asked("cuMemcpyBatchAsync", 12080), ours(&cuMemcpyBatchAsync));
  EXPECT_EQ(asked("cuMemcpyBatchAsync", 12090), ours(&cuMemcpyBatchAsync));
  EXPECT_EQ(asked("cuMemcpyBatchAsync", 13000), ours(&cuMemcpyBatchAsync_v2));
  EXPECT_EQ(asked("cuIpcOpenMemHandle", 4010), ours(&cuIpcOpenMemHandle));
  EXPECT_EQ(asked("cuIpcOpenMemHandle", 11000), ours(&cuIpcOpenMemHandle_v2));
  EXPECT_EQ(asked("cuCtxSynchronize", 12090), ours(&cuCtxSynchronize));
  EXPECT_EQ(asked("cuCtxSynchronize", 13000), ours(&cuCtxSynchronize_v2));
  EXPECT_EQ(asked("cuGetProcAddress", 11030), ours(&cuGetProcAddress));
  EXPECT_EQ(asked("cuGetProcAddress", 12000), ours(&cuGetProcAddress_v2));
}

TEST(RequestedFunctions, HaveTheFormThatAnOlderDriverHas) {
  EXPECT_EQ(replacement_for_request("cuCtxSynchronize", 13000, false, kReal, lacks_newest),
            ours(&cuCtxSynchronize));
}

// 32-bit forms before, unknown ones after.
TEST(RequestedFunctions, OfOtherVersionsAreTheDrivers) {
  EXPECT_EQ(asked("cuMemcpyDtoDAsync", 3000), kReal);
  EXPECT_EQ(asked("cuMemcpyDtoDAsync", 14000), kReal);
  EXPECT_EQ(asked("cuMemcpyBatchAsync", 12000), kReal);
}

TEST(RequestedFunctions, ThatAreNotInOurListAreTheDrivers) {
  EXPECT_EQ(asked("cuMemHostAlloc", 3020), kReal);
  EXPECT_EQ(asked("cuMemcpyDtoDAsync_v2", 3020), kReal);
  EXPECT_EQ(asked("", 3020), kReal);
  EXPECT_EQ(asked(nullptr, 3020), kReal);
}

TEST(RequestedFunctions, ThatTheDriverDoesNotHaveStayMissing) {
  EXPECT_EQ(replacement_for_request("cuMemcpy", 4000, false, nullptr, lacks_nothing), nullptr);
  EXPECT_EQ(replacement_for_symbol("cuMemcpy", nullptr), nullptr);
}

// A library that is not the driver may have functions of the same name.
TEST(ExportedSymbols, OfOtherLibrariesAreLeftAlone) {
  EXPECT_EQ(replacement_for_symbol("cuMemcpy", kReal), kReal);
}

TEST(ExportedSymbols, OfOurListMayBeReplaced) {
  EXPECT_TRUE(may_be_replaced("cuMemcpyDtoDAsync_v2_ptsz"));
  EXPECT_TRUE(may_be_replaced("cuGetProcAddress_v2"));
  EXPECT_TRUE(may_be_replaced("cuMemAlloc_v2"));
  EXPECT_TRUE(may_be_replaced("cuMemFree_v2"));
  EXPECT_FALSE(may_be_replaced("malloc"));
  EXPECT_FALSE(may_be_replaced(""));
  EXPECT_FALSE(may_be_replaced(nullptr));
}

// UCX patches what it finds by these names; other callers are told from it by where their code is.
TEST(ExportedSymbols, ThatUcxPatchesAreTheDriversForUcxOnly) {
  EXPECT_TRUE(is_patched("cuMemAlloc_v2"));
  EXPECT_TRUE(is_patched("cuMemFree_v2"));
  EXPECT_TRUE(is_patched("cuMemFreeHost"));
  EXPECT_FALSE(is_patched("cuMemHostUnregister"));
  EXPECT_FALSE(is_patched("cuMemcpyAsync"));
  EXPECT_FALSE(patches_functions(reinterpret_cast<const void*>(&is_patched)));
  EXPECT_FALSE(patches_functions(nullptr));
}

}  // namespace
}  // namespace polypath::preload::symbol_lookup_test
