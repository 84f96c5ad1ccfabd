// libnvidia-ml.so.1 for tests: the NVML calls of UCX and Polypath, answered with facts of the
// stand-in's machine. Unlike CUDA it shows all GPUs, independent of CUDA_VISIBLE_DEVICES.

#include <strings.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include "core/error.h"
#include "machine/load_machine.h"
#include "standin/facts/settings.h"
#include "standin/nvml/device.h"

namespace polypath::standin {
namespace {

// Never freed: NVML may be asked by exit handlers.
std::atomic<const std::vector<Gpu>*> the_gpus = nullptr;

NvmlResult start() {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  if (known_gpus() != nullptr) return kNvmlSuccess;
  try {
    the_gpus = new std::vector<Gpu>(gpus_of(load_machine(read_settings().machine)));
    return kNvmlSuccess;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "standin: %s\n", error.what());
    return kNvmlUnknown;
  }
}

template <class Condition>
NvmlResult find(NvmlDevice* where, Condition condition) {
  const std::vector<Gpu>* gpus = known_gpus();
  if (gpus == nullptr) return kNvmlUninitialized;
  if (where == nullptr) return kNvmlInvalidArgument;
  for (const Gpu& gpu : *gpus) {
    if (!condition(gpu)) continue;
    *where = reinterpret_cast<NvmlDevice>(gpu.index + 1);
    return kNvmlSuccess;
  }
  return kNvmlNotFound;
}

NvmlResult put(char* where, unsigned length, const std::string& text) {
  if (where == nullptr) return kNvmlInvalidArgument;
  if (length <= text.size()) return kNvmlInsufficientSize;
  std::memcpy(where, text.c_str(), text.size() + 1);
  return kNvmlSuccess;
}

// "0000:1B:00.0" and, as NVML has it, "00000000:1B:00.0".
bool is_bus_id(const Gpu& gpu, const std::string& text) {
  const std::string known = bus_id(gpu);
  return strcasecmp(text.c_str(), known.c_str()) == 0 ||
         strcasecmp(text.c_str(), ("0000" + known).c_str()) == 0;
}

}  // namespace

const std::vector<Gpu>* known_gpus() { return the_gpus.load(); }

NvmlPciInfo pci_info(const std::string& bus_id, int bus) {
  NvmlPciInfo info{};
  info.bus = static_cast<unsigned>(bus);
  bus_id.copy(info.legacy_bus_id, sizeof info.legacy_bus_id - 1);
  ("0000" + bus_id).copy(info.bus_id, sizeof info.bus_id - 1);
  return info;
}

}  // namespace polypath::standin

using namespace polypath::standin;

STANDIN_NVML_EXPORT NvmlResult nvmlInit() { return start(); }
STANDIN_NVML_EXPORT NvmlResult nvmlInit_v2() { return start(); }
STANDIN_NVML_EXPORT NvmlResult nvmlInitWithFlags(unsigned) { return start(); }
STANDIN_NVML_EXPORT NvmlResult nvmlShutdown() { return kNvmlSuccess; }

STANDIN_NVML_EXPORT const char* nvmlErrorString(NvmlResult result) {
  switch (result) {
    case kNvmlSuccess: return "Success";
    case kNvmlUninitialized: return "Uninitialized";
    case kNvmlInvalidArgument: return "Invalid Argument";
    case kNvmlNotSupported: return "Not Supported";
    case kNvmlNotFound: return "Not Found";
    case kNvmlInsufficientSize: return "Insufficient Size";
    default: return "Unknown Error";
  }
}

STANDIN_NVML_EXPORT NvmlResult nvmlSystemGetDriverVersion(char* where, unsigned length) {
  return put(where, length, "580.0.0");
}

STANDIN_NVML_EXPORT NvmlResult nvmlDeviceGetCount_v2(unsigned* where) {
  const auto* gpus = known_gpus();
  return gpus == nullptr ? kNvmlUninitialized : put(where, gpus->size());
}

STANDIN_NVML_EXPORT NvmlResult nvmlDeviceGetHandleByIndex_v2(unsigned index, NvmlDevice* where) {
  return find(where, [&](const Gpu& gpu) { return gpu.index == index; });
}

STANDIN_NVML_EXPORT NvmlResult nvmlDeviceGetHandleByPciBusId_v2(const char* id, NvmlDevice* where) {
  if (id == nullptr) return kNvmlInvalidArgument;
  return find(where, [&](const Gpu& gpu) { return is_bus_id(gpu, id); });
}

STANDIN_NVML_EXPORT NvmlResult nvmlDeviceGetHandleByUUID(const char* uuid, NvmlDevice* where) {
  if (uuid == nullptr) return kNvmlInvalidArgument;
  return find(where, [&](const Gpu& gpu) { return uuid_text(gpu) == uuid; });
}

STANDIN_NVML_EXPORT NvmlResult nvmlDeviceGetIndex(NvmlDevice device, unsigned* where) {
  return with(device, [&](const Gpu& gpu) { return put(where, gpu.index); });
}

STANDIN_NVML_EXPORT NvmlResult nvmlDeviceGetName(NvmlDevice device, char* where, unsigned length) {
  return with(device, [&](const Gpu& gpu) { return put(where, length, gpu.name); });
}

STANDIN_NVML_EXPORT NvmlResult nvmlDeviceGetUUID(NvmlDevice device, char* where, unsigned length) {
  return with(device, [&](const Gpu& gpu) { return put(where, length, uuid_text(gpu)); });
}

STANDIN_NVML_EXPORT NvmlResult nvmlDeviceGetPciInfo_v3(NvmlDevice device, NvmlPciInfo* where) {
  return with(device, [&](const Gpu& gpu) { return put(where, pci_info(bus_id(gpu), gpu.bus)); });
}

STANDIN_NVML_EXPORT NvmlResult nvmlDeviceGetMaxPcieLinkGeneration(NvmlDevice device,
                                                                  unsigned* where) {
  return with(device, [&](const Gpu& gpu) { return put(where, gpu.pcie_generation); });
}

STANDIN_NVML_EXPORT NvmlResult nvmlDeviceGetMaxPcieLinkWidth(NvmlDevice device, unsigned* where) {
  return with(device, [&](const Gpu& gpu) { return put(where, gpu.pcie_width); });
}

STANDIN_NVML_EXPORT NvmlResult nvmlDeviceGetMemoryInfo(NvmlDevice device, NvmlMemory* where) {
  return with(device, [&](const Gpu&) {
    const unsigned long long total = read_settings().memory.value;
    return put(where, NvmlMemory{.total = total, .free = total, .used = 0});
  });
}

// For reads, writes and all else alike.
STANDIN_NVML_EXPORT NvmlResult nvmlDeviceGetP2PStatus(NvmlDevice device, NvmlDevice other, int,
                                                      int* where) {
  return with(device, [&](const Gpu& from) {
    return with(other, [&](const Gpu& to) {
      return put(where, from.reaches[to.index] ? kNvmlPeersWell : kNvmlPeersUnsupported);
    });
  });
}

STANDIN_NVML_EXPORT NvmlResult nvmlDeviceGetGpuFabricInfo(NvmlDevice, void*) {
  return kNvmlNotSupported;
}
STANDIN_NVML_EXPORT NvmlResult nvmlDeviceGetGpuFabricInfoV(NvmlDevice, void*) {
  return kNvmlNotSupported;
}
