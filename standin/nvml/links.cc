// A GPU's links in NVML.

#include <algorithm>

#include "standin/nvml/device.h"

namespace polypath::standin {
namespace {

// A link that the GPU has, and the GPU at its other end; null for a switch.
template <class Body>
NvmlResult with_link(NvmlDevice device, unsigned link, Body body) {
  return with(device, [&](const Gpu& gpu) {
    if (link >= gpu.links.size()) return kNvmlInvalidArgument;
    const int peer = gpu.links[link];
    const std::vector<Gpu>& gpus = *known_gpus();
    return body(gpu, peer == kToSwitch ? nullptr : &gpus[static_cast<std::size_t>(peer)]);
  });
}

// The rate of a link in each direction in MB/s, with the encoding that copies do not see (NVIDIA's
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
