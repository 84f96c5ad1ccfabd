// Devices: their number and their properties.

#include <cstring>
#include <map>
#include <set>

#include "standin/cuda/lookup.h"
#include "standin/state/process.h"

namespace polypath::standin {
namespace {

constexpr int kPciBusId = 33, kPciDeviceId = 34, kPciDomainId = 50;
constexpr int kComputeMode = 20, kExclusiveProcess = 3;
constexpr int kComputeMajor = 75, kComputeMinor = 76;

// CUdevice_attribute, those that are not zero and the same for every GPU.
const std::map<int, int>& fixed_attributes() {
  static const auto& values = *new std::map<int, int>{
      {1, 1024},  // MAX_THREADS_PER_BLOCK
      {10, 32},   // WARP_SIZE
      {15, 1},    // GPU_OVERLAP
      {16, 132},  // MULTIPROCESSOR_COUNT
      {19, 1},    // CAN_MAP_HOST_MEMORY
      {31, 1},    // CONCURRENT_KERNELS
      {40, 3},    // ASYNC_ENGINE_COUNT
      {41, 1},    // UNIFIED_ADDRESSING
      {78, 1},    // STREAM_PRIORITIES_SUPPORTED
      {83, 1},    // MANAGED_MEMORY
      {89, 1},    // CONCURRENT_MANAGED_ACCESS
      {91, 1},    // CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
      {99, 1},    // HOST_REGISTER_SUPPORTED
      {102, 1},   // VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
  };
  return values;
}

// Streams that wait for values: CAN_USE_STREAM_MEM_OPS_V1, CAN_USE_64_BIT_STREAM_MEM_OPS_V1,
// CAN_USE_STREAM_WAIT_VALUE_NOR_V1, and the last two without _V1.
const std::set<int>& value_attributes() {
  static const auto& attributes = *new std::set<int>{92, 93, 94, 122, 123};
  return attributes;
}

int setting_attribute(const StandInSettings& settings, int attribute) {
  if (attribute == kComputeMode) return settings.exclusive ? kExclusiveProcess : 0;
  return settings.chaos && value_attributes().contains(attribute) ? 1 : 0;
}

int attribute_of(const Gpu& gpu, const StandInSettings& settings, int attribute) {
  switch (attribute) {
    case kPciBusId: return gpu.bus;
    case kPciDeviceId:
    case kPciDomainId: return 0;
    case kComputeMajor: return gpu.compute_major;
    case kComputeMinor: return gpu.compute_minor;
    default: break;
  }
  const auto found = fixed_attributes().find(attribute);
  return found == fixed_attributes().end() ? setting_attribute(settings, attribute) : found->second;
}

void store_text(char* text, int length, const std::string& value) {
  if (text == nullptr || length <= 0) refuse(kInvalidValue, "the text has nowhere to go");
  const std::size_t count = std::min(value.size(), static_cast<std::size_t>(length) - 1);
  std::memcpy(text, value.data(), count);
  text[count] = '\0';
}

Device find_by_bus_id(const Process& process, const std::string& wanted) {
  for (std::size_t i = 0; i < process.contexts.gpus().size(); ++i) {
    const std::string known = bus_id(process.contexts.gpus()[i]);
    if (strcasecmp(wanted.c_str(), known.c_str()) == 0 ||
        strcasecmp(wanted.c_str(), known.substr(5).c_str()) == 0)
      return static_cast<Device>(i);
  }
  refuse(kInvalidDevice, "no visible GPU is there");
}

// CUdevice_P2PAttribute
int peer_attribute(const Gpu& from, const Gpu& to, int attribute) {
  const bool reaches = from.reaches[to.index];
  switch (attribute) {
    case 1: return from.performance_ranks[to.index];  // PERFORMANCE_RANK
    case 2: return reaches ? 1 : 0;                   // ACCESS_SUPPORTED
    case 3: return reaches && !from.links.empty();    // NATIVE_ATOMIC_SUPPORTED
    case 4: return 0;                                 // CUDA_ARRAY_ACCESS_SUPPORTED
    default: refuse(kInvalidValue, "there is no such attribute of two GPUs");
  }
}

bool is_function(std::string_view name) { return look_up(name, INT32_MAX, false) != nullptr; }

Result uuid(Uuid* uuid, Device device) {
  return enter("cuDeviceGetUuid", [&](Process& process) {
    Uuid value{};
    std::memcpy(value.bytes, process.contexts.gpu(device).uuid.data(), sizeof value.bytes);
    store(uuid, value);
  });
}

}  // namespace
}  // namespace polypath::standin

using namespace polypath;
using namespace polypath::standin;

STANDIN_EXPORT Result cuInit(unsigned) { return start(is_function); }

STANDIN_EXPORT Result cuDriverGetVersion(int* version) {
  if (version == nullptr) return kInvalidValue;
  *version = kDriverVersion;
  return kSuccess;
}

STANDIN_EXPORT Result cuDeviceGetCount(int* count) {
  return enter("cuDeviceGetCount",
               [&](Process& process) { store(count, process.contexts.gpus().size()); });
}

STANDIN_EXPORT Result cuDeviceGet(Device* device, int ordinal) {
  return enter("cuDeviceGet", [&](Process& process) {
    (void)process.contexts.gpu(ordinal);
    store(device, ordinal);
  });
}

STANDIN_EXPORT Result cuDeviceGetName(char* name, int length, Device device) {
  return enter("cuDeviceGetName", [&](Process& process) {
    store_text(name, length, process.contexts.gpu(device).name);
  });
}

STANDIN_EXPORT Result cuDeviceGetUuid(Uuid* where, Device device) { return uuid(where, device); }
STANDIN_EXPORT Result cuDeviceGetUuid_v2(Uuid* where, Device device) { return uuid(where, device); }

STANDIN_EXPORT Result cuDeviceGetAttribute(int* value, int attribute, Device device) {
  return enter("cuDeviceGetAttribute", [&](Process& process) {
    store(value, attribute_of(process.contexts.gpu(device), process.settings, attribute));
  });
}

STANDIN_EXPORT Result cuDeviceTotalMem_v2(std::size_t* bytes, Device device) {
  return enter("cuDeviceTotalMem", [&](Process& process) {
    (void)process.contexts.gpu(device);
    store(bytes, process.settings.memory.value);
  });
}

STANDIN_EXPORT Result cuDeviceGetPCIBusId(char* text, int length, Device device) {
  return enter("cuDeviceGetPCIBusId", [&](Process& process) {
    store_text(text, length, bus_id(process.contexts.gpu(device)));
  });
}

STANDIN_EXPORT Result cuDeviceGetByPCIBusId(Device* device, const char* text) {
  return enter("cuDeviceGetByPCIBusId", [&](Process& process) {
    store(device, find_by_bus_id(process, text == nullptr ? "" : text));
  });
}

STANDIN_EXPORT Result cuDeviceCanAccessPeer(int* possible, Device device, Device peer) {
  return enter("cuDeviceCanAccessPeer", [&](Process& process) {
    const Gpu& from = process.contexts.gpu(device);
    store(possible, from.reaches[process.contexts.gpu(peer).index] ? 1 : 0);
  });
}

STANDIN_EXPORT Result cuDeviceGetP2PAttribute(int* value, int attribute, Device device,
                                              Device peer) {
  return enter("cuDeviceGetP2PAttribute", [&](Process& process) {
    if (device == peer) refuse(kInvalidDevice, "a GPU is no peer of its own");
    store(value,
          peer_attribute(process.contexts.gpu(device), process.contexts.gpu(peer), attribute));
  });
}
