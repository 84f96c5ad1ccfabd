#pragma once
// The part of NVML's binary interface that the stand-in shows.

#include <cstdint>

/// Seen by the program; everything else in the library is hidden.
#define STANDIN_NVML_EXPORT extern "C" __attribute__((visibility("default")))

namespace polypath::standin {

// nvmlReturn_t
using NvmlResult = int;
constexpr NvmlResult kNvmlSuccess = 0;
constexpr NvmlResult kNvmlUninitialized = 1;
constexpr NvmlResult kNvmlInvalidArgument = 2;
constexpr NvmlResult kNvmlNotSupported = 3;
constexpr NvmlResult kNvmlNotFound = 6;
constexpr NvmlResult kNvmlInsufficientSize = 7;
constexpr NvmlResult kNvmlUnknown = 999;

using NvmlDevice = struct OpaqueNvmlDevice*;

/// nvmlPciInfo_t
struct NvmlPciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(NvmlPciInfo) == 68);

/// nvmlMemory_t
struct NvmlMemory {
  unsigned long long total, free, used;
};

// nvmlGpuP2PStatus_t
constexpr int kNvmlPeersWell = 0;         // NVML_P2P_STATUS_OK
constexpr int kNvmlPeersUnsupported = 1;  // NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED

// nvmlFieldValue_t, its fields and value types
constexpr unsigned kNvmlLinkSpeed = 90;  // NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON
constexpr unsigned kNvmlLinkCount = 91;  // NVML_FI_DEV_NVLINK_LINK_COUNT
constexpr int kNvmlUnsigned = 1;         // NVML_VALUE_TYPE_UNSIGNED_INT
struct NvmlFieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency;
  int value_type;
  NvmlResult result;
  unsigned long long value;  ///< of a union; the smaller members lie at its begin
};
static_assert(sizeof(NvmlFieldValue) == 40);

}  // namespace polypath::standin
