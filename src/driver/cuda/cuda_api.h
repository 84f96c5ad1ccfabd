#pragma once
// The functions of libcuda, resolved at run time by their exported names.

#include <optional>
#include <string>

#include "driver/cuda/cuda_types.h"

// X(member, exported symbol, CUDA version that brought it, parameters). Functions that 11.8 does
// not have may be null; check before use.
#define POLYPATH_CUDA_FUNCTIONS(X)                                                                 \
  X(init, cuInit, 2000, (unsigned))                                                                \
  X(driver_version, cuDriverGetVersion, 2020, (int*))                                              \
  X(error_name, cuGetErrorName, 6000, (Result, const char**))                                      \
  X(error_string, cuGetErrorString, 6000, (Result, const char**))                                  \
  X(device_count, cuDeviceGetCount, 2000, (int*))                                                  \
  X(device_get, cuDeviceGet, 2000, (Device*, int))                                                 \
  X(device_name, cuDeviceGetName, 2000, (char*, int, Device))                                      \
  X(device_attribute, cuDeviceGetAttribute, 2000, (int*, int, Device))                             \
  X(device_memory, cuDeviceTotalMem_v2, 3020, (std::size_t*, Device))                              \
  X(device_bus_id, cuDeviceGetPCIBusId, 4010, (char*, int, Device))                                \
  X(device_can_access, cuDeviceCanAccessPeer, 4000, (int*, Device, Device))                        \
  X(device_peer_attribute, cuDeviceGetP2PAttribute, 8000, (int*, int, Device, Device))             \
  X(device_uuid, cuDeviceGetUuid_v2, 11040, (GpuUuid*, Device))                                    \
  X(context_state, cuDevicePrimaryCtxGetState, 7000, (Device, unsigned*, int*))                    \
  X(context_retain, cuDevicePrimaryCtxRetain, 7000, (ContextPointer*, Device))                     \
  X(context_release, cuDevicePrimaryCtxRelease_v2, 11000, (Device))                                \
  X(context_current, cuCtxGetCurrent, 4000, (ContextPointer*))                                     \
  X(context_create, cuCtxCreate_v2, 3020, (ContextPointer*, unsigned, Device))                     \
  X(context_id, cuCtxGetId, 12000, (ContextPointer, unsigned long long*))                          \
  X(context_device, cuCtxGetDevice, 2000, (Device*))                                               \
  X(context_push, cuCtxPushCurrent_v2, 4000, (ContextPointer))                                     \
  X(context_pop, cuCtxPopCurrent_v2, 4000, (ContextPointer*))                                      \
  X(context_enable_peer, cuCtxEnablePeerAccess, 4000, (ContextPointer, unsigned))                  \
  X(context_disable_peer, cuCtxDisablePeerAccess, 4000, (ContextPointer))                          \
  X(allocate, cuMemAlloc_v2, 3020, (DevicePointer*, std::size_t))                                  \
  X(free, cuMemFree_v2, 3020, (DevicePointer))                                                     \
  X(host_allocate, cuMemHostAlloc, 2020, (void**, std::size_t, unsigned))                          \
  X(host_free, cuMemFreeHost, 2000, (void*))                                                       \
  X(host_device_pointer, cuMemHostGetDevicePointer_v2, 3020, (DevicePointer*, void*, unsigned))    \
  X(host_register, cuMemHostRegister_v2, 6050, (void*, std::size_t, unsigned))                     \
  X(host_unregister, cuMemHostUnregister, 4000, (void*))                                           \
  X(memory_granularity, cuMemGetAllocationGranularity, 10020,                                      \
    (std::size_t*, const MemoryProperties*, int))                                                  \
  X(memory_create, cuMemCreate, 10020,                                                             \
    (std::uint64_t*, std::size_t, const MemoryProperties*, unsigned long long))                    \
  X(memory_release, cuMemRelease, 10020, (std::uint64_t))                                          \
  X(memory_map, cuMemMap, 10020,                                                                   \
    (DevicePointer, std::size_t, std::size_t, std::uint64_t, unsigned long long))                  \
  X(memory_unmap, cuMemUnmap, 10020, (DevicePointer, std::size_t))                                 \
  X(memory_open, cuMemSetAccess, 10020,                                                            \
    (DevicePointer, std::size_t, const MemoryUser*, std::size_t))                                  \
  X(memory_access, cuMemGetAccess, 10020,                                                          \
    (unsigned long long*, const MemoryLocation*, DevicePointer))                                   \
  X(memory_retain, cuMemRetainAllocationHandle, 11000, (std::uint64_t*, void*))                    \
  X(memory_export, cuMemExportToShareableHandle, 10020,                                            \
    (void*, std::uint64_t, unsigned, unsigned long long))                                          \
  X(memory_import, cuMemImportFromShareableHandle, 10020, (std::uint64_t*, void*, unsigned))       \
  X(pool_access, cuMemPoolGetAccess, 11020, (int*, void*, const MemoryLocation*))                  \
  X(address_reserve, cuMemAddressReserve, 10020,                                                   \
    (DevicePointer*, std::size_t, std::size_t, DevicePointer, unsigned long long))                 \
  X(address_free, cuMemAddressFree, 10020, (DevicePointer, std::size_t))                           \
  X(pointer_attributes, cuPointerGetAttributes, 7000, (unsigned, int*, void**, DevicePointer))     \
  X(ipc_export, cuIpcGetMemHandle, 4010, (IpcHandle*, DevicePointer))                              \
  X(ipc_open, cuIpcOpenMemHandle_v2, 11000, (DevicePointer*, IpcHandle, unsigned))                 \
  X(ipc_close, cuIpcCloseMemHandle, 4010, (DevicePointer))                                         \
  X(stream_create, cuStreamCreate, 2000, (StreamPointer*, unsigned))                               \
  X(stream_context, cuStreamGetCtx, 9020, (StreamPointer, ContextPointer*))                        \
  X(stream_destroy, cuStreamDestroy_v2, 4000, (StreamPointer))                                     \
  X(stream_synchronize, cuStreamSynchronize, 2000, (StreamPointer))                                \
  X(stream_query, cuStreamQuery, 2000, (StreamPointer))                                            \
  X(stream_flags, cuStreamGetFlags, 5050, (StreamPointer, unsigned*))                              \
  X(stream_wait, cuStreamWaitEvent, 3020, (StreamPointer, EventPointer, unsigned))                 \
  X(stream_capturing, cuStreamIsCapturing, 10000, (StreamPointer, int*))                           \
  X(thread_capture_mode, cuThreadExchangeStreamCaptureMode, 10010, (int*))                         \
  X(event_create, cuEventCreate, 2000, (EventPointer*, unsigned))                                  \
  X(event_destroy, cuEventDestroy_v2, 4000, (EventPointer))                                        \
  X(event_record, cuEventRecord, 2000, (EventPointer, StreamPointer))                              \
  X(event_query, cuEventQuery, 2000, (EventPointer))                                               \
  X(event_synchronize, cuEventSynchronize, 2000, (EventPointer))                                   \
  X(event_elapsed, cuEventElapsedTime, 2000, (float*, EventPointer, EventPointer))                 \
  X(copy_any, cuMemcpyAsync, 4000, (DevicePointer, DevicePointer, std::size_t, StreamPointer))     \
  X(copy_in, cuMemcpyHtoDAsync_v2, 3020, (DevicePointer, const void*, std::size_t, StreamPointer)) \
  X(copy_out, cuMemcpyDtoHAsync_v2, 3020, (void*, DevicePointer, std::size_t, StreamPointer))      \
  X(copy_between, cuMemcpyDtoDAsync_v2, 3020,                                                      \
    (DevicePointer, DevicePointer, std::size_t, StreamPointer))                                    \
  X(set_bytes, cuMemsetD8Async, 3020, (DevicePointer, unsigned char, std::size_t, StreamPointer))  \
  X(write_value, cuStreamWriteValue32_v2, 11070,                                                   \
    (StreamPointer, DevicePointer, std::uint32_t, unsigned))                                       \
  X(wait_value, cuStreamWaitValue32_v2, 11070,                                                     \
    (StreamPointer, DevicePointer, std::uint32_t, unsigned))                                       \
  X(module_load, cuModuleLoadData, 2000, (ModulePointer*, const void*))                            \
  X(module_unload, cuModuleUnload, 2000, (ModulePointer))                                          \
  X(module_function, cuModuleGetFunction, 2000, (FunctionPointer*, ModulePointer, const char*))    \
  X(launch_kernel, cuLaunchKernel, 4000,                                                           \
    (FunctionPointer, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,        \
     StreamPointer, void**, void**))                                                               \
  X(graph_create, cuGraphCreate, 10000, (GraphPointer*, unsigned))                                 \
  X(graph_destroy, cuGraphDestroy, 10000, (GraphPointer))                                          \
  X(graph_add_copy, cuGraphAddMemcpyNode, 10000,                                                   \
    (GraphNodePointer*, GraphPointer, const GraphNodePointer*, std::size_t, const Memcpy3D*,       \
     ContextPointer))                                                                              \
  X(graph_instantiate, cuGraphInstantiateWithFlags, 11040,                                         \
    (GraphExecPointer*, GraphPointer, unsigned long long))                                         \
  X(graph_exec_set_copy, cuGraphExecMemcpyNodeSetParams, 10020,                                    \
    (GraphExecPointer, GraphNodePointer, const Memcpy3D*, ContextPointer))                         \
  X(graph_add_kernel, cuGraphAddKernelNode, 10000,                                                 \
    (GraphNodePointer*, GraphPointer, const GraphNodePointer*, std::size_t,                        \
     const KernelParameters*))                                                                     \
  X(graph_exec_set_kernel, cuGraphExecKernelNodeSetParams, 10010,                                  \
    (GraphExecPointer, GraphNodePointer, const KernelParameters*))                                 \
  X(graph_add_flag, cuGraphAddBatchMemOpNode, 11070,                                               \
    (GraphNodePointer*, GraphPointer, const GraphNodePointer*, std::size_t,                        \
     const MemoryOperations*))                                                                     \
  X(graph_launch, cuGraphLaunch, 10000, (GraphExecPointer, StreamPointer))                         \
  X(graph_exec_destroy, cuGraphExecDestroy, 10000, (GraphExecPointer))

namespace polypath::cuda {

/// Function pointers by our names.
struct Functions {
// Parentheses around a declarator's name would declare something else.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define POLYPATH_DECLARE(member, symbol, version, parameters) Result(*member) parameters = nullptr;
  POLYPATH_CUDA_FUNCTIONS(POLYPATH_DECLARE)
#undef POLYPATH_DECLARE
  // NOLINTEND(bugprone-macro-parentheses)
};

/// libcuda as found on this computer, initialised. One per process, never closed: its threads and
/// exit handlers outlive any of ours.
class DriverLibrary {
 public:
  /// Opens it once; later calls return the same. Not there, too old, or without a GPU: `problem`
  /// says so in words, and nothing else may be used.
  static const DriverLibrary& get();

  std::string problem;  ///< empty if usable
  int version = 0;      ///< of the driver: 13000 is CUDA 13.0
  int gpus = 0;         ///< visible ones
  Functions functions;

 private:
  DriverLibrary();
  [[nodiscard]] std::string open();
};

/// Of the library, once it is known to be usable.
inline const Functions& functions() { return DriverLibrary::get().functions; }

/// Throws if `result` is not success; `call` names the function. Code driver, out_of_memory for
/// lack of memory, invalid_argument for values that CUDA rejects.
void check(Result result, const char* call);

}  // namespace polypath::cuda
