#pragma once
// The part of the CUDA driver's binary interface that Polypath uses, declared here so that building
// needs no CUDA: libcuda is opened at run time. All of it is unchanged from CUDA 11.8 to 13.
// tests/driver/cuda_types.test.cc compares it with cuda.h where there is one.

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

// CUresult
constexpr Result kSuccess = 0;
constexpr Result kInvalidValue = 1;
constexpr Result kOutOfMemory = 2;
constexpr Result kNotReady = 600;
constexpr Result kPeerAccessAlreadyEnabled = 704;
constexpr Result kStreamCaptureImplicit = 906;

// CUpointer_attribute
constexpr int kPointerMemoryType = 2;
constexpr int kPointerIsManaged = 8;
constexpr int kPointerDeviceOrdinal = 9;
constexpr int kPointerRangeStart = 11;
constexpr int kPointerRangeSize = 12;

// CUmemorytype
constexpr unsigned kMemoryHost = 1;
constexpr unsigned kMemoryDevice = 2;

// CUdevice_attribute
constexpr int kDeviceAsyncEngineCount = 40;

// CUdevice_P2PAttribute
constexpr int kPeerPerformanceRank = 1;
constexpr int kPeerAccessSupported = 2;

constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventDisableTiming = 2;
constexpr unsigned kHostAllocPortable = 1;
constexpr int kCaptureModeRelaxed = 2;
constexpr int kCaptureNone = 0;

/// CUDA_MEMCPY3D_v2: what a memcpy node of a graph copies.
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

}  // namespace polypath::cuda
