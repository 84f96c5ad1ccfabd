// Functions by name and version, and those that only say that they are not supported.

#include "driver/cuda/cuda_api.h"
#include "standin/program.h"
#include "support/layers.h"

namespace polypath::test::lookup_test {
namespace {

constexpr std::uint64_t kLegacy = 1, kPerThread = 2;

// All that libuct_cuda.so and libucm_cuda.so of UCX 1.22 import or look up.
constexpr const char* kDriverFunctionsOfUcx[] = {
    "cuCtxGetCurrent",
    "cuCtxGetDevice",
    "cuCtxGetId",
    "cuCtxPopCurrent_v2",
    "cuCtxPushCurrent_v2",
    "cuCtxSetFlags",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceGetUuid_v2",
    "cuDevicePrimaryCtxGetState",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDeviceTotalMem_v2",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventQuery",
    "cuEventRecord",
    "cuGetErrorString",
    "cuGetProcAddress_v2",
    "cuInit",
    "cuIpcCloseMemHandle",
    "cuIpcGetMemHandle",
    "cuIpcOpenMemHandle_v2",
    "cuMemAddressFree",
    "cuMemAddressReserve",
    "cuMemAllocManaged",
    "cuMemAlloc_v2",
    "cuMemCreate",
    "cuMemExportToShareableHandle",
    "cuMemFree_v2",
    "cuMemGetAddressRange_v2",
    "cuMemGetAllocationGranularity",
    "cuMemGetAllocationPropertiesFromHandle",
    "cuMemGetHandleForAddressRange",
    "cuMemHostRegister_v2",
    "cuMemHostUnregister",
    "cuMemImportFromShareableHandle",
    "cuMemMap",
    "cuMemPoolDestroy",
    "cuMemPoolExportPointer",
    "cuMemPoolExportToShareableHandle",
    "cuMemPoolImportFromShareableHandle",
    "cuMemPoolImportPointer",
    "cuMemPoolSetAccess",
    "cuMemRangeGetAttribute",
    "cuMemRelease",
    "cuMemRetainAllocationHandle",
    "cuMemSetAccess",
    "cuMemUnmap",
    "cuMemcpyAsync",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyHtoD_v2",
    "cuPointerGetAttribute",
    "cuPointerGetAttributes",
    "cuPointerSetAttribute",
    "cuStreamAddCallback",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuMemAllocAsync",
    "cuMemAllocFromPoolAsync",
    "cuMemAllocPitch_v2",
    "cuMemFreeAsync",
    "cuMemFreeHost",
    "cuLibraryGetGlobal",
    "cuModuleGetGlobal_v2",
};
constexpr const char* kManagementFunctionsOfUcx[] = {
    "nvmlInit_v2",
    "nvmlShutdown",
    "nvmlErrorString",
    "nvmlDeviceGetCount_v2",
    "nvmlDeviceGetFieldValues",
    "nvmlDeviceGetGpuFabricInfo",
    "nvmlDeviceGetGpuFabricInfoV",
    "nvmlDeviceGetHandleByIndex_v2",
    "nvmlDeviceGetNvLinkRemotePciInfo_v2",
    "nvmlDeviceGetPciInfo_v3",
};

void* find(const char* name, int version, std::uint64_t flags = 0, int* status = nullptr) {
  void* function = nullptr;
  cu("cuGetProcAddress_v2", name, &function, version, flags, status);
  return function;
}

void* exported(const char* symbol) { return dlsym(standin_library(), symbol); }

TEST(StandInLookup, TheVersionDecidesWhichFunctionIsMeant) {
  EXPECT_EQ(find("cuMemAlloc", 12000), exported("cuMemAlloc_v2"));
  EXPECT_EQ(find("cuMemcpyBatchAsync", 12080), exported("cuMemcpyBatchAsync"));
  EXPECT_EQ(find("cuMemcpyBatchAsync", 13000), exported("cuMemcpyBatchAsync_v2"));
  EXPECT_EQ(find("cuIpcOpenMemHandle", 10000), exported("cuIpcOpenMemHandle"));
  EXPECT_EQ(find("cuIpcOpenMemHandle", 11000), exported("cuIpcOpenMemHandle_v2"));
}

TEST(StandInLookup, TheFlagsDecideWhatStreamZeroIs) {
  EXPECT_EQ(find("cuMemcpyAsync", 12000), exported("cuMemcpyAsync"));
  EXPECT_EQ(find("cuMemcpyAsync", 12000, kLegacy), exported("cuMemcpyAsync"));
  EXPECT_EQ(find("cuMemcpyAsync", 12000, kPerThread), exported("cuMemcpyAsync_ptsz"));
  EXPECT_EQ(find("cuMemcpyDtoDAsync", 12000, kPerThread), exported("cuMemcpyDtoDAsync_v2_ptsz"));
  EXPECT_EQ(find("cuMemcpy", 12000, kPerThread), exported("cuMemcpy_ptds"));
  EXPECT_EQ(find("cuInit", 12000, kPerThread), exported("cuInit"));
}

TEST(StandInLookup, WhatIsNotThereIsSaidToBe) {
  int status = -1;
  void* function = &status;

  EXPECT_EQ(cu("cuGetProcAddress_v2", "cuNothing", &function, 13000, std::uint64_t{0}, &status),
            standin::kNotFound);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(find("cuMemcpyBatchAsync", 12000, 0, &status), nullptr);
  EXPECT_EQ(status, 2);
  EXPECT_NE(find("cuMemcpyBatchAsync", 13000, 0, &status), nullptr);
  EXPECT_EQ(status, 0);
}

TEST(StandInLookup, PolypathFindsAllItAsksFor) {
#define EXPECT_EXPORTED(member, symbol, version, parameters) \
  EXPECT_NE(exported(#symbol), nullptr) << #symbol;
  POLYPATH_CUDA_FUNCTIONS(EXPECT_EXPORTED)
#undef EXPECT_EXPORTED
}

TEST(StandInLookup, UcxFindsAllItAsksFor) {
  for (const char* symbol : kDriverFunctionsOfUcx) EXPECT_NE(exported(symbol), nullptr) << symbol;
  for (const char* symbol : kManagementFunctionsOfUcx)
    EXPECT_NE(dlsym(standin_nvml(), symbol), nullptr) << symbol;
}

TEST(StandInLookup, WhatIsNotDoneSaysSo) {
  EXPECT_EQ(cu("cuMemPoolImportPointer"), standin::kNotSupported);
  EXPECT_EQ(cu("cuMemAdvise"), standin::kNotSupported);
}

// Nothing of Polypath's own, nor of the C++ library, which the program may have in another version.
TEST(StandInLookup, OnlyTheDriversInterfaceIsSeen) {
  EXPECT_EQ(exported("_ZN8polypath7standin5startEv"), nullptr);
  EXPECT_EQ(exported("polypath_version"), nullptr);
}

}  // namespace
}  // namespace polypath::test::lookup_test
