#pragma once
// The driver's functions that stand between a program and libcuda here, in one list. The exported
// symbols, the look-ups in the real driver and the answers of cuGetProcAddress all come from it.

#include <array>
#include <cstddef>
#include <cstdint>

#include "api/preload/watched_functions.h"
#include "driver/cuda/cuda_types.h"

namespace polypath::preload {

using cuda::ContextPointer;
using cuda::Device;
using cuda::DevicePointer;
using cuda::IpcHandle;
using cuda::Result;
using cuda::StreamPointer;

/// The beginning of CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  StreamPointer stream;
};

}  // namespace polypath::preload

// X(exported symbol, name to ask cuGetProcAddress for, CUDA version that brought this form of it,
//   1 if its default stream is the thread's own, parameters, ...)
#define POLYPATH_INTERPOSED_FUNCTIONS(X)                                                          \
  X(cuMemcpy, "cuMemcpy", 4000, 0, (DevicePointer, DevicePointer, std::size_t))                   \
  X(cuMemcpy_ptds, "cuMemcpy", 4000, 1, (DevicePointer, DevicePointer, std::size_t))              \
  X(cuMemcpyAsync, "cuMemcpyAsync", 4000, 0,                                                      \
    (DevicePointer, DevicePointer, std::size_t, StreamPointer))                                   \
  X(cuMemcpyAsync_ptsz, "cuMemcpyAsync", 4000, 1,                                                 \
    (DevicePointer, DevicePointer, std::size_t, StreamPointer))                                   \
  X(cuMemcpyHtoD_v2, "cuMemcpyHtoD", 3020, 0, (DevicePointer, const void*, std::size_t))          \
  X(cuMemcpyHtoD_v2_ptds, "cuMemcpyHtoD", 3020, 1, (DevicePointer, const void*, std::size_t))     \
  X(cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync", 3020, 0,                                           \
    (DevicePointer, const void*, std::size_t, StreamPointer))                                     \
  X(cuMemcpyHtoDAsync_v2_ptsz, "cuMemcpyHtoDAsync", 3020, 1,                                      \
    (DevicePointer, const void*, std::size_t, StreamPointer))                                     \
  X(cuMemcpyDtoH_v2, "cuMemcpyDtoH", 3020, 0, (void*, DevicePointer, std::size_t))                \
  X(cuMemcpyDtoH_v2_ptds, "cuMemcpyDtoH", 3020, 1, (void*, DevicePointer, std::size_t))           \
  X(cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync", 3020, 0,                                           \
    (void*, DevicePointer, std::size_t, StreamPointer))                                           \
  X(cuMemcpyDtoHAsync_v2_ptsz, "cuMemcpyDtoHAsync", 3020, 1,                                      \
    (void*, DevicePointer, std::size_t, StreamPointer))                                           \
  X(cuMemcpyDtoD_v2, "cuMemcpyDtoD", 3020, 0, (DevicePointer, DevicePointer, std::size_t))        \
  X(cuMemcpyDtoD_v2_ptds, "cuMemcpyDtoD", 3020, 1, (DevicePointer, DevicePointer, std::size_t))   \
  X(cuMemcpyDtoDAsync_v2, "cuMemcpyDtoDAsync", 3020, 0,                                           \
    (DevicePointer, DevicePointer, std::size_t, StreamPointer))                                   \
  X(cuMemcpyDtoDAsync_v2_ptsz, "cuMemcpyDtoDAsync", 3020, 1,                                      \
    (DevicePointer, DevicePointer, std::size_t, StreamPointer))                                   \
  X(cuMemcpyPeer, "cuMemcpyPeer", 4000, 0,                                                        \
    (DevicePointer, ContextPointer, DevicePointer, ContextPointer, std::size_t))                  \
  X(cuMemcpyPeer_ptds, "cuMemcpyPeer", 4000, 1,                                                   \
    (DevicePointer, ContextPointer, DevicePointer, ContextPointer, std::size_t))                  \
  X(cuMemcpyPeerAsync, "cuMemcpyPeerAsync", 4000, 0,                                              \
    (DevicePointer, ContextPointer, DevicePointer, ContextPointer, std::size_t, StreamPointer))   \
  X(cuMemcpyPeerAsync_ptsz, "cuMemcpyPeerAsync", 4000, 1,                                         \
    (DevicePointer, ContextPointer, DevicePointer, ContextPointer, std::size_t, StreamPointer))   \
  X(cuMemcpyBatchAsync, "cuMemcpyBatchAsync", 12080, 0,                                           \
    (DevicePointer*, DevicePointer*, std::size_t*, std::size_t, void*, std::size_t*, std::size_t, \
     std::size_t*, StreamPointer))                                                                \
  X(cuMemcpyBatchAsync_ptsz, "cuMemcpyBatchAsync", 12080, 1,                                      \
    (DevicePointer*, DevicePointer*, std::size_t*, std::size_t, void*, std::size_t*, std::size_t, \
     std::size_t*, StreamPointer))                                                                \
  X(cuMemcpyBatchAsync_v2, "cuMemcpyBatchAsync", 13000, 0,                                        \
    (DevicePointer*, DevicePointer*, std::size_t*, std::size_t, void*, std::size_t*, std::size_t, \
     StreamPointer))                                                                              \
  X(cuMemcpyBatchAsync_v2_ptsz, "cuMemcpyBatchAsync", 13000, 1,                                   \
    (DevicePointer*, DevicePointer*, std::size_t*, std::size_t, void*, std::size_t*, std::size_t, \
     StreamPointer))                                                                              \
  X(cuMemAlloc_v2, "cuMemAlloc", 3020, 0, (DevicePointer*, std::size_t))                          \
  X(cuMemAllocPitch_v2, "cuMemAllocPitch", 3020, 0,                                               \
    (DevicePointer*, std::size_t*, std::size_t, std::size_t, unsigned))                           \
  X(cuMemAllocManaged, "cuMemAllocManaged", 6000, 0, (DevicePointer*, std::size_t, unsigned))     \
  X(cuMemAllocAsync, "cuMemAllocAsync", 11020, 0, (DevicePointer*, std::size_t, StreamPointer))   \
  X(cuMemAllocAsync_ptsz, "cuMemAllocAsync", 11020, 1,                                            \
    (DevicePointer*, std::size_t, StreamPointer))                                                 \
  X(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 11020, 0,                                 \
    (DevicePointer*, std::size_t, void*, StreamPointer))                                          \
  X(cuMemAllocFromPoolAsync_ptsz, "cuMemAllocFromPoolAsync", 11020, 1,                            \
    (DevicePointer*, std::size_t, void*, StreamPointer))                                          \
  X(cuMemCreate, "cuMemCreate", 10020, 0,                                                         \
    (std::uint64_t*, std::size_t, const void*, unsigned long long))                               \
  X(cuMemImportFromShareableHandle, "cuMemImportFromShareableHandle", 10020, 0,                   \
    (std::uint64_t*, void*, unsigned))                                                            \
  X(cuMemFree_v2, "cuMemFree", 3020, 0, (DevicePointer))                                          \
  X(cuMemFreeHost, "cuMemFreeHost", 2000, 0, (void*))                                             \
  X(cuMemHostRegister, "cuMemHostRegister", 4000, 0, (void*, std::size_t, unsigned))              \
  X(cuMemHostRegister_v2, "cuMemHostRegister", 6050, 0, (void*, std::size_t, unsigned))           \
  X(cuMemHostUnregister, "cuMemHostUnregister", 4000, 0, (void*))                                 \
  X(cuMemFreeAsync, "cuMemFreeAsync", 11020, 0, (DevicePointer, StreamPointer))                   \
  X(cuMemFreeAsync_ptsz, "cuMemFreeAsync", 11020, 1, (DevicePointer, StreamPointer))              \
  X(cuIpcGetMemHandle, "cuIpcGetMemHandle", 4010, 0, (IpcHandle*, DevicePointer))                 \
  X(cuIpcOpenMemHandle, "cuIpcOpenMemHandle", 4010, 0, (DevicePointer*, IpcHandle, unsigned))     \
  X(cuIpcOpenMemHandle_v2, "cuIpcOpenMemHandle", 11000, 0, (DevicePointer*, IpcHandle, unsigned)) \
  X(cuIpcCloseMemHandle, "cuIpcCloseMemHandle", 4010, 0, (DevicePointer))                         \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000, 0, (ContextPointer*, Device))     \
  X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease", 7000, 0, (Device))                    \
  X(cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", 11000, 0, (Device))                \
  X(cuDevicePrimaryCtxReset, "cuDevicePrimaryCtxReset", 7000, 0, (Device))                        \
  X(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", 11000, 0, (Device))                    \
  X(cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess", 4000, 0, (ContextPointer, unsigned))          \
  X(cuCtxDisablePeerAccess, "cuCtxDisablePeerAccess", 4000, 0, (ContextPointer))                  \
  X(cuCtxSynchronize, "cuCtxSynchronize", 2000, 0, ())                                            \
  X(cuCtxSynchronize_v2, "cuCtxSynchronize", 13000, 0, (ContextPointer))                          \
  X(cuStreamSynchronize, "cuStreamSynchronize", 2000, 0, (StreamPointer))                         \
  X(cuStreamSynchronize_ptsz, "cuStreamSynchronize", 2000, 1, (StreamPointer))                    \
  X(cuStreamQuery, "cuStreamQuery", 2000, 0, (StreamPointer))                                     \
  X(cuStreamQuery_ptsz, "cuStreamQuery", 2000, 1, (StreamPointer))                                \
  X(cuCtxDestroy_v2, "cuCtxDestroy", 4000, 0, (ContextPointer))                                   \
  X(cuGetProcAddress, "cuGetProcAddress", 11030, 0, (const char*, void**, int, std::uint64_t))    \
  X(cuGetProcAddress_v2, "cuGetProcAddress", 12000, 0,                                            \
    (const char*, void**, int, std::uint64_t, int*))                                              \
  X(cuGetProcAddress_v2_ptsz, "cuGetProcAddress", 12000, 1,                                       \
    (const char*, void**, int, std::uint64_t, int*))                                              \
  POLYPATH_WATCHED_FUNCTIONS(X)

// Parentheses around a declarator's name would declare something else.
// NOLINTBEGIN(bugprone-macro-parentheses)

/// The functions that a program calls instead of the driver's. Each only makes a small request of
/// the call and asks the interposer; any doubt goes to the real driver.
extern "C" {
namespace polypath::preload {
#define POLYPATH_DECLARE(symbol, name, since, own_stream, parameters, ...) \
  __attribute__((visibility("default"))) Result symbol parameters;
POLYPATH_INTERPOSED_FUNCTIONS(POLYPATH_DECLARE)
#undef POLYPATH_DECLARE
}  // namespace polypath::preload
}

namespace polypath::preload {

/// The real driver's functions. A function that the driver does not have returns an error when
/// called.
struct RealFunctions {
#define POLYPATH_DECLARE(symbol, name, since, own_stream, parameters, ...) \
  Result(*symbol) parameters = nullptr;
  POLYPATH_INTERPOSED_FUNCTIONS(POLYPATH_DECLARE)
#undef POLYPATH_DECLARE
};

// NOLINTEND(bugprone-macro-parentheses)

}  // namespace polypath::preload
