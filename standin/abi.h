#pragma once
// The part of the CUDA driver's binary interface that the stand-in shows, beyond what the CUDA
// layer of Polypath declares for its own use (driver/cuda/cuda_types.h).

#include "driver/cuda/cuda_types.h"

/// Seen by the program; everything else in the library is hidden.
#define STANDIN_EXPORT extern "C" __attribute__((visibility("default")))

/// A function that takes a stream, under its two names: where the program passes stream 0, `kZero`
/// says whether that is the legacy default stream or the calling thread's own.
#define STANDIN_BOTH(name, suffix, parameters, call)           \
  STANDIN_EXPORT Result name parameters {                      \
    constexpr DefaultStream kZero = DefaultStream::legacy;     \
    return call;                                               \
  }                                                            \
  STANDIN_EXPORT Result name##suffix parameters {              \
    constexpr DefaultStream kZero = DefaultStream::per_thread; \
    return call;                                               \
  }

namespace polypath::standin {

using cuda::ContextPointer;
using cuda::Device;
using cuda::DevicePointer;
using cuda::EventPointer;
using cuda::FunctionPointer;
using cuda::GraphExecPointer;
using cuda::GraphNodePointer;
using cuda::GraphPointer;
using cuda::KernelParameters;
using cuda::Memcpy3D;
using cuda::MemoryOperation;
using cuda::MemoryOperations;
using cuda::ModulePointer;
using cuda::Result;
using cuda::StreamPointer;

/// The meaning of stream 0.
enum class DefaultStream { legacy, per_thread };

// CUresult, as far as it is returned here
using cuda::kInvalidValue;
using cuda::kNotReady;
using cuda::kOutOfMemory;
using cuda::kPeerAccessAlreadyEnabled;
using cuda::kStreamCaptureImplicit;
using cuda::kSuccess;
constexpr Result kNotInitialized = 3;
constexpr Result kDeinitialized = 4;
constexpr Result kDeviceUnavailable = 46;
constexpr Result kNoDevice = 100;
constexpr Result kInvalidDevice = 101;
constexpr Result kInvalidContext = 201;
constexpr Result kPeerAccessUnsupported = 217;
constexpr Result kInvalidHandle = 400;
constexpr Result kNotFound = 500;
constexpr Result kPeerAccessNotEnabled = 705;
constexpr Result kContextIsDestroyed = 709;
constexpr Result kHostMemoryAlreadyRegistered = 712;
constexpr Result kHostMemoryNotRegistered = 713;
constexpr Result kNotPermitted = 800;
constexpr Result kNotSupported = 801;
constexpr Result kCaptureUnsupported = 900;
constexpr Result kCaptureInvalidated = 901;
constexpr Result kCaptureUnmatched = 903;
constexpr Result kCaptureUnjoined = 904;
constexpr Result kCaptureIsolation = 905;
constexpr Result kCapturedEvent = 907;
constexpr Result kGraphUpdateFailure = 910;
constexpr Result kUnknown = 999;

// Handles of streams with a meaning of their own
inline const StreamPointer kLegacyStream = reinterpret_cast<StreamPointer>(1);
inline const StreamPointer kPerThreadStream = reinterpret_cast<StreamPointer>(2);

// CUdevice_attribute, CUpointer_attribute and others stand where they are answered.
constexpr int kDriverVersion = 13000;
constexpr Device kInvalidOrdinal = -2;  // CU_DEVICE_INVALID

/// CUipcMemHandle
struct IpcHandle {
  char bytes[64];
};

/// CUuuid
struct Uuid {
  unsigned char bytes[16];
};

}  // namespace polypath::standin
