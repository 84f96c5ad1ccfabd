#pragma once
// The part of the CUDA driver that the test programs use, as a program sees it that knows nothing
// of Polypath, and buffers whose bytes can be told apart.

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

extern "C" {
using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct ProgramContext*;
using CUstream = struct ProgramStream*;
using CUevent = struct ProgramEvent*;
using CUgraph = struct ProgramGraph*;
using CUgraphExec = struct ProgramGraphExec*;
using CUmemoryPool = struct ProgramPool*;
struct CUmemLocation {
  int type;
  int id;
};
struct CUmemAllocationProp {
  int type;
  int requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  unsigned char allocFlags[8];
};
struct CUmemAccessDesc {
  CUmemLocation location;
  int flags;
};
struct CUmemPoolProps {
  int allocType;
  int handleTypes;
  CUmemLocation location;
  void* win32SecurityAttributes;
  std::size_t maxSize;
  unsigned char reserved[56];
};
struct CUipcMemHandle {
  char reserved[64];
};

CUresult cuInit(unsigned);
CUresult cuDeviceGetCount(int*);
CUresult cuDevicePrimaryCtxRetain(CUcontext*, CUdevice);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice);
CUresult cuDevicePrimaryCtxGetState(CUdevice, unsigned*, int*);
CUresult cuCtxCreate_v2(CUcontext*, unsigned, CUdevice);
CUresult cuCtxDestroy_v2(CUcontext);
CUresult cuCtxGetCurrent(CUcontext*);
CUresult cuCtxSetCurrent(CUcontext);
CUresult cuCtxSynchronize();
CUresult cuCtxEnablePeerAccess(CUcontext, unsigned);
CUresult cuCtxDisablePeerAccess(CUcontext);
CUresult cuMemAlloc_v2(CUdeviceptr*, std::size_t);
CUresult cuMemAllocManaged(CUdeviceptr*, std::size_t, unsigned);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemGetInfo_v2(std::size_t*, std::size_t*);
CUresult cuMemHostAlloc(void**, std::size_t, unsigned);
CUresult cuMemFreeHost(void*);
CUresult cuMemHostRegister_v2(void*, std::size_t, unsigned);
CUresult cuMemHostUnregister(void*);
CUresult cuMemsetD8_v2(CUdeviceptr, unsigned char, std::size_t);
CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, std::size_t, CUstream);
CUresult cuEventCreate(CUevent*, unsigned);
CUresult cuEventDestroy_v2(CUevent);
CUresult cuEventRecord(CUevent, CUstream);
CUresult cuEventQuery(CUevent);
CUresult cuEventSynchronize(CUevent);
CUresult cuStreamCreate(CUstream*, unsigned);
CUresult cuStreamDestroy_v2(CUstream);
CUresult cuStreamSynchronize(CUstream);
CUresult cuStreamQuery(CUstream);
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned);
CUresult cuStreamWaitValue32_v2(CUstream, CUdeviceptr, std::uint32_t, unsigned);
CUresult cuLaunchHostFunc(CUstream, void (*)(void*), void*);
CUresult cuStreamBeginCapture_v2(CUstream, int);
CUresult cuStreamEndCapture(CUstream, CUgraph*);
CUresult cuGraphGetNodes(CUgraph, void*, std::size_t*);
CUresult cuGraphDestroy(CUgraph);
CUresult cuGraphInstantiateWithFlags(CUgraphExec*, CUgraph, unsigned long long);
CUresult cuGraphLaunch(CUgraphExec, CUstream);
CUresult cuGraphExecDestroy(CUgraphExec);
CUresult cuGetProcAddress_v2(const char*, void**, int, std::uint64_t, int*);
CUresult cuMemcpyAsync(CUdeviceptr, CUdeviceptr, std::size_t, CUstream);
CUresult cuMemcpyBatchAsync(CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t, void*,
                            std::size_t*, std::size_t, std::size_t*, CUstream);
CUresult cuMemcpyAsync_ptsz(CUdeviceptr, CUdeviceptr, std::size_t, CUstream);
CUresult cuMemcpy(CUdeviceptr, CUdeviceptr, std::size_t);
CUresult cuMemcpyDtoD_v2(CUdeviceptr, CUdeviceptr, std::size_t);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr, CUdeviceptr, std::size_t, CUstream);
CUresult cuMemcpyHtoD_v2(CUdeviceptr, const void*, std::size_t);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr, const void*, std::size_t, CUstream);
CUresult cuMemcpyDtoH_v2(void*, CUdeviceptr, std::size_t);
CUresult cuMemcpyDtoHAsync_v2(void*, CUdeviceptr, std::size_t, CUstream);
CUresult cuMemcpyPeerAsync(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, std::size_t, CUstream);
CUresult cuMemGetAllocationGranularity(std::size_t*, const CUmemAllocationProp*, int);
CUresult cuMemCreate(std::uint64_t*, std::size_t, const CUmemAllocationProp*, unsigned long long);
CUresult cuMemRelease(std::uint64_t);
CUresult cuMemAddressReserve(CUdeviceptr*, std::size_t, std::size_t, CUdeviceptr,
                             unsigned long long);
CUresult cuMemAddressFree(CUdeviceptr, std::size_t);
CUresult cuMemMap(CUdeviceptr, std::size_t, std::size_t, std::uint64_t, unsigned long long);
CUresult cuMemUnmap(CUdeviceptr, std::size_t);
CUresult cuMemSetAccess(CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t);
CUresult cuMemExportToShareableHandle(void*, std::uint64_t, unsigned, unsigned long long);
CUresult cuMemImportFromShareableHandle(std::uint64_t*, void*, unsigned);
CUresult cuMemGetAccess(unsigned long long*, const CUmemLocation*, CUdeviceptr);
CUresult cuMemPoolCreate(CUmemoryPool*, const CUmemPoolProps*);
CUresult cuMemPoolDestroy(CUmemoryPool);
CUresult cuMemPoolSetAccess(CUmemoryPool, const CUmemAccessDesc*, std::size_t);
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool*, CUdevice);
CUresult cuMemAllocAsync(CUdeviceptr*, std::size_t, CUstream);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr*, std::size_t, CUmemoryPool, CUstream);
CUresult cuMemFreeAsync(CUdeviceptr, CUstream);
CUresult cuIpcGetMemHandle(CUipcMemHandle*, CUdeviceptr);
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr*, CUipcMemHandle, unsigned);
CUresult cuIpcCloseMemHandle(CUdeviceptr);
}

namespace program {

constexpr std::size_t kMiB = 1 << 20;

/// Ends the program, with a line that says where, if `result` is not success.
inline void check(CUresult result, const char* call, int line) {
  if (result == 0) return;
  std::fprintf(stderr, "line %d: %s failed with %d\n", line, call, result);
  std::_Exit(3);
}
#define CHECK(call) program::check(call, #call, __LINE__)

/// Ends the program, with a line that says where, if `holds` is false.
inline void expect(bool holds, const char* what, int line) {
  if (holds) return;
  std::fprintf(stderr, "line %d: not so: %s\n", line, what);
  std::_Exit(4);
}
#define EXPECT(what) program::expect(what, #what, __LINE__)

inline CUcontext context_of(int gpu) {
  CUcontext context = nullptr;
  CHECK(cuDevicePrimaryCtxRetain(&context, gpu));
  return context;
}

inline void use(int gpu) { CHECK(cuCtxSetCurrent(context_of(gpu))); }

inline CUstream stream_on(int gpu, unsigned flags = 1) {
  use(gpu);
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, flags));
  return stream;
}

inline CUdeviceptr memory_on(int gpu, std::size_t bytes) {
  use(gpu);
  CUdeviceptr memory = 0;
  CHECK(cuMemAlloc_v2(&memory, bytes));
  return memory;
}

inline void* pinned(std::size_t bytes) {
  void* memory = nullptr;
  CHECK(cuMemHostAlloc(&memory, bytes, 0));
  return memory;
}

/// Keeps memory that has been given back, which is to be used again: faulting it in takes longer
/// than everything else here.
inline void keep_memory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

/// Bytes that differ by place and by seed.
inline std::vector<unsigned char> pattern(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::uint64_t> words(bytes / sizeof(std::uint64_t) + 1);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (std::uint64_t& word : words) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    word = state ^ (state >> 29);
  }
  std::vector<unsigned char> made(bytes);
  std::memcpy(made.data(), words.data(), bytes);
  return made;
}

/// Through pieces that are too small to be anybody's business.
constexpr std::size_t kPiece = kMiB / 2;

// Of pageable memory such a copy may return before the last bytes are where they belong.
inline void write(CUdeviceptr to, const std::vector<unsigned char>& bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += kPiece)
    CHECK(cuMemcpyHtoD_v2(to + at, bytes.data() + at, std::min(kPiece, bytes.size() - at)));
  CHECK(cuStreamSynchronize(nullptr));
}

inline std::vector<unsigned char> read(CUdeviceptr from, std::size_t bytes) {
  std::vector<unsigned char> got(bytes);
  for (std::size_t at = 0; at < bytes; at += kPiece)
    CHECK(cuMemcpyDtoH_v2(got.data() + at, from + at, std::min(kPiece, bytes - at)));
  return got;
}

/// Memory of a GPU with a pattern in it.
inline CUdeviceptr filled(int gpu, std::size_t bytes, std::uint64_t seed) {
  const CUdeviceptr memory = memory_on(gpu, bytes);
  write(memory, pattern(bytes, seed));
  return memory;
}

inline bool has_context(int gpu) {
  unsigned flags = 0;
  int active = 0;
  CHECK(cuDevicePrimaryCtxGetState(gpu, &flags, &active));
  return active != 0;
}

}  // namespace program
