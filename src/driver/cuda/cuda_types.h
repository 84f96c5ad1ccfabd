#pragma once
// The part of the CUDA driver's binary interface that Polypath uses, declared here so that building
// needs no CUDA: libcuda is opened at run time. All of it is unchanged from CUDA 11.8 to 13.

#include <array>
#include <cstddef>
#include <cstdint>

namespace polypath::cuda {

using Result = int;
using Device = int;
using DevicePointer = unsigned long long;
using ContextPointer = struct OpaqueContext*;
using StreamPointer = struct OpaqueStream*;
using EventPointer = struct OpaqueEvent*;
using GraphPointer = struct OpaqueGraph*;
using GraphNodePointer = struct OpaqueGraphNode*;
using GraphExecPointer = struct OpaqueGraphExec*;
using ModulePointer = struct OpaqueModule*;
using FunctionPointer = struct OpaqueFunction*;

/// CUipcMemHandle: names an allocation to other processes. Compared as a whole.
struct IpcHandle {
  std::array<unsigned char, 64> bytes{};
  bool operator==(const IpcHandle&) const = default;
};
/// CUuuid: of a GPU, or of the part of a GPU that the process sees.
struct GpuUuid {
  std::array<unsigned char, 16> bytes{};
  bool operator==(const GpuUuid&) const = default;
};
static_assert(sizeof(IpcHandle) == 64 && sizeof(GpuUuid) == 16);

// CUresult
constexpr Result kSuccess = 0;
constexpr Result kInvalidValue = 1;
constexpr Result kOutOfMemory = 2;
constexpr Result kNotInitialized = 3;
constexpr Result kInvalidImage = 200;
constexpr Result kInvalidContext = 201;
constexpr Result kNoBinaryForGpu = 209;
constexpr Result kInvalidPtx = 218;
constexpr Result kUnsupportedPtxVersion = 222;
constexpr Result kNotFound = 500;
constexpr Result kNotReady = 600;
constexpr Result kPeerAccessAlreadyEnabled = 704;
constexpr Result kPeerAccessNotEnabled = 705;
constexpr Result kNotSupported = 801;
constexpr Result kStreamCaptureImplicit = 906;
constexpr Result kUnknownError = 999;

// CUpointer_attribute
constexpr int kPointerContext = 1;
constexpr int kPointerMemoryType = 2;
constexpr int kPointerBufferId = 7;
constexpr int kPointerIsManaged = 8;
constexpr int kPointerDeviceOrdinal = 9;
constexpr int kPointerIsIpcCapable = 10;
constexpr int kPointerRangeStart = 11;
constexpr int kPointerRangeSize = 12;
constexpr int kPointerHandleTypes = 14;
constexpr int kPointerPool = 17;
constexpr int kPointerMappingSize = 18;
constexpr int kPointerMappingStart = 19;

// CUmemorytype
constexpr unsigned kMemoryHost = 1;
constexpr unsigned kMemoryDevice = 2;

// CUdevice_attribute
constexpr int kDeviceMultiprocessors = 16;
constexpr int kDeviceComputeMode = 20;
constexpr int kDeviceAsyncEngineCount = 40;
constexpr int kDeviceVirtualMemory = 102;

// CUcomputemode: any number of processes may use the GPU.
constexpr int kComputeModeDefault = 0;

constexpr unsigned kStreamNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
constexpr unsigned kEventDefault = 0;
constexpr unsigned kEventDisableTiming = 2;
constexpr unsigned kHostAllocPortable = 1;
constexpr unsigned kHostRegisterPortable = 1;
constexpr unsigned kIpcLazyPeerAccess = 1;
constexpr std::uintptr_t kStreamLegacy = 1;     // CU_STREAM_LEGACY, as a stream's pointer
constexpr std::uintptr_t kStreamPerThread = 2;  // CU_STREAM_PER_THREAD
constexpr int kCaptureModeRelaxed = 2;
constexpr int kCaptureNone = 0;

/// CUmemLocation, CUmemAllocationProp, CUmemAccessDesc: memory apart from addresses.
struct MemoryLocation {
  int type = 1;  ///< CU_MEM_LOCATION_TYPE_DEVICE
  Device id = 0;
};
struct MemoryProperties {
  int type = 1;  ///< CU_MEM_ALLOCATION_TYPE_PINNED: of a device, that is its own memory
  int handle_types = 0;
  MemoryLocation location;
  void* win32 = nullptr;
  std::array<unsigned char, 8> flags{};
};
constexpr unsigned kFileHandles = 1;    ///< CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
constexpr unsigned kFabricHandles = 8;  ///< CU_MEM_HANDLE_TYPE_FABRIC
struct MemoryUser {
  MemoryLocation location;
  int access = 3;  ///< CU_MEM_ACCESS_FLAGS_PROT_READWRITE
};
static_assert(sizeof(MemoryProperties) == 32 && sizeof(MemoryUser) == 12);

/// CUDA_MEMCPY3D_v2: the copy of a memcpy node of a graph.
struct Memcpy3D {
  std::size_t source_x = 0, source_y = 0, source_z = 0, source_lod = 0;
  unsigned source_type = 0;
  const void* source_host = nullptr;
  DevicePointer source_device = 0;
  void* source_array = nullptr;
  void* reserved0 = nullptr;
  std::size_t source_pitch = 0, source_height = 0;
  std::size_t destination_x = 0, destination_y = 0, destination_z = 0, destination_lod = 0;
  unsigned destination_type = 0;
  void* destination_host = nullptr;
  DevicePointer destination_device = 0;
  void* destination_array = nullptr;
  void* reserved1 = nullptr;
  std::size_t destination_pitch = 0, destination_height = 0;
  std::size_t width = 0, height = 1, depth = 1;
};
static_assert(sizeof(Memcpy3D) == 200);

/// How `extra` names parameters that lie in one buffer.
inline void* const kParametersEnd = nullptr;
inline void* const kParameterBuffer = reinterpret_cast<void*>(1);
inline void* const kParameterBufferSize = reinterpret_cast<void*>(2);

/// CUDA_KERNEL_NODE_PARAMS_v1: the launch of a kernel node of a graph.
struct KernelParameters {
  FunctionPointer function = nullptr;
  std::array<unsigned, 3> blocks = {1, 1, 1};
  std::array<unsigned, 3> threads_per_block = {1, 1, 1};
  unsigned shared_bytes = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
};
static_assert(sizeof(KernelParameters) == 56);

/// CUstreamBatchMemOpParams, as far as words of 32 bits are waited for and written.
struct MemoryOperation {
  int operation = 0;
  DevicePointer address = 0;
  std::uint64_t value = 0;
  unsigned flags = 0;
  DevicePointer alias = 0;
  std::uint64_t reserved = 0;
};
static_assert(sizeof(MemoryOperation) == 48);

// CUstreamBatchMemOpType, CUstreamWaitValue_flags, CUstreamWriteValue_flags
constexpr int kWaitValue32 = 1, kWriteValue32 = 2;
constexpr unsigned kWaitEqual = 1;
constexpr unsigned kWriteDefault = 0;  ///< after a fence: earlier writes are seen first

/// CUDA_BATCH_MEM_OP_NODE_PARAMS: operations that a node of a graph does one after another.
struct MemoryOperations {
  ContextPointer context = nullptr;
  unsigned count = 0;
  MemoryOperation* operations = nullptr;
  unsigned flags = 0;
};
static_assert(sizeof(MemoryOperations) == 32);

}  // namespace polypath::cuda
