// libnvidia-ml.so.1 for tests: what UCX and Polypath ask of NVML, as facts of the stand-in's
// machine. Unlike CUDA it shows all GPUs, whatever CUDA_VISIBLE_DEVICES says.

#include <strings.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include "core/error.h"
#include "machine/library.h"
#include "standin/facts/gpus.h"
#include "standin/facts/settings.h"
#include "standin/nvml/abi.h"

namespace polypath::standin {
namespace {

// Never freed: NVML may be asked by exit handlers.
std::atomic<const std::vector<Gpu>*> known_gpus = nullptr;

NvmlResult start() {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  if (known_gpus.load() != nullptr) return kNvmlSuccess;
  try {
    known_gpus = new std::vector<Gpu>(gpus_of(load_machine(read_settings().machine)));
    return kNvmlSuccess;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "standin: %s\n", error.what());
    return kNvmlUnknown;
  }
}

// Runs a body for the GPU of a handle, which is its index plus one.
template <class Body>
NvmlResult with(NvmlDevice device, Body body) {
  const std::vector<Gpu>* gpus = known_gpus.load();
  if (gpus == nullptr) return kNvmlUninitialized;
  const auto index = reinterpret_cast<std::uintptr_t>(device) - 1;
  return index < gpus->size() ? body((*gpus)[index]) : kNvmlInvalidArgument;
}

template <class Condition>
NvmlResult find(NvmlDevice* where, Condition condition) {
  const std::vector<Gpu>* gpus = known_gpus.load();
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

template <class Value, class Given>
NvmlResult put(Value* where, Given value) {
  if (where == nullptr) return kNvmlInvalidArgument;
  *where = static_cast<Value>(value);
  return kNvmlSuccess;
}

// "0000:1B:00.0" and, as NVML has it, "00000000:1B:00.0".
bool is_bus_id(const Gpu& gpu, const std::string& text) {
  const std::string known = bus_id(gpu);
  return strcasecmp(text.c_str(), known.c_str()) == 0 ||
         strcasecmp(text.c_str(), ("0000" + known).c_str()) == 0;
}

NvmlPciInfo pci_info(const std::string& bus_id, int bus) {
  NvmlPciInfo info{};
  info.bus = static_cast<unsigned>(bus);
  bus_id.copy(info.legacy_bus_id, sizeof info.legacy_bus_id - 1);
  ("0000" + bus_id).copy(info.bus_id, sizeof info.bus_id - 1);
  return info;
}

// A link that the GPU has, and the GPU at its other end; null for a switch.
template <class Body>
NvmlResult with_link(NvmlDevice device, unsigned link, Body body) {
  return with(device, [&](const Gpu& gpu) {
    if (link >= gpu.links.size()) return kNvmlInvalidArgument;
    const int peer = gpu.links[link];
    const std::vector<Gpu>& gpus = *known_gpus.load();
    return body(gpu, peer == kToSwitch ? nullptr : &gpus[static_cast<std::size_t>(peer)]);
  });
}

// What a link carries in each direction in MB/s, with the encoding that copies do not see (NVIDIA's
// datasheets: 25.78 Gb/s per lane up to version 2.2, then 50, 53.125 from 4.0 on).
unsigned link_speed(const Gpu& gpu) { return gpu.link_version >= 6 ? 26562 : 25781; }

void answer(const Gpu& gpu, NvmlFieldValue& field) {
  field.value_type = kNvmlUnsigned;
  field.result = kNvmlSuccess;
  field.value = 0;
  if (field.field == kNvmlLinkCount) field.value = gpu.links.size();
  else if (field.field == kNvmlLinkSpeed) field.value = gpu.links.empty() ? 0 : link_speed(gpu);
  else field.result = kNvmlNotSupported;
}

}  // namespace
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
  const auto* gpus = known_gpus.load();
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
  return with(device, [&](const Gpu&) { return put(where, 16); });
}

STANDIN_NVML_EXPORT NvmlResult nvmlDeviceGetNvLinkState(NvmlDevice device, unsigned link,
                                                        unsigned* where) {
  return with_link(device, link, [&](const Gpu&, const Gpu*) { return put(where, 1); });
}

STANDIN_NVML_EXPORT NvmlResult nvmlDeviceGetNvLinkVersion(NvmlDevice device, unsigned link,
                                                          unsigned* where) {
  return with_link(device, link,
                   [&](const Gpu& gpu, const Gpu*) { return put(where, gpu.link_version); });
}

STANDIN_NVML_EXPORT NvmlResult nvmlDeviceGetNvLinkRemoteDeviceType(NvmlDevice device, unsigned link,
                                                                   unsigned* where) {
  constexpr unsigned kGpu = 0, kSwitch = 2;
  return with_link(device, link, [&](const Gpu&, const Gpu* peer) {
    return put(where, peer == nullptr ? kSwitch : kGpu);
  });
}

STANDIN_NVML_EXPORT NvmlResult nvmlDeviceGetNvLinkRemotePciInfo_v2(NvmlDevice device, unsigned link,
                                                                   NvmlPciInfo* where) {
  constexpr int kSwitchBus = 0xd0;
  return with_link(device, link, [&](const Gpu&, const Gpu* peer) {
    return put(where, peer == nullptr ? pci_info("0000:D0:00.0", kSwitchBus)
                                      : pci_info(bus_id(*peer), peer->bus));
  });
}

STANDIN_NVML_EXPORT NvmlResult nvmlDeviceGetFieldValues(NvmlDevice device, int count,
                                                        NvmlFieldValue* fields) {
  return with(device, [&](const Gpu& gpu) {
    if (fields == nullptr || count < 0) return kNvmlInvalidArgument;
    std::for_each(fields, fields + count, [&](NvmlFieldValue& field) { answer(gpu, field); });
    return kNvmlSuccess;
  });
}

STANDIN_NVML_EXPORT NvmlResult nvmlDeviceGetGpuFabricInfo(NvmlDevice, void*) {
  return kNvmlNotSupported;
}
STANDIN_NVML_EXPORT NvmlResult nvmlDeviceGetGpuFabricInfoV(NvmlDevice, void*) {
  return kNvmlNotSupported;
}
