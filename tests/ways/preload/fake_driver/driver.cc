// A driver for tests of how mappings of other processes' memory are opened, used and closed. What
// deals with mappings, copies, graphs and events keeps a journal, in the words that the tests use.

#include <cstdio>
#include <string>
#include <vector>

#include "driver/cuda/cuda_api.h"
#include "ways/preload/fake_driver/journal.h"

using namespace polypath::cuda;

namespace {

constexpr int kGpus = 4;

polypath::preload::FakeDriver state;
thread_local std::vector<ContextPointer> contexts;

ContextPointer context_of(Device gpu) {
  return reinterpret_cast<ContextPointer>(static_cast<std::uintptr_t>(0x1000 + gpu));
}

// " in gpu2", after the context that is current, or the one that is given.
std::string where(ContextPointer context = nullptr) {
  if (context == nullptr) context = contexts.empty() ? context_of(0) : contexts.back();
  return " in gpu" + std::to_string(reinterpret_cast<std::uintptr_t>(context) - 0x1000);
}

std::string hex(unsigned long long value) {
  char text[32];
  std::snprintf(text, sizeof text, "%llx", value);
  return text;
}

std::string hex(const void* pointer) { return hex(reinterpret_cast<std::uintptr_t>(pointer)); }

void note(const std::string& what) { state.journal.push_back(what); }

template <class Pointer>
void give(Pointer* pointer) {
  static std::uintptr_t last = 0xa000;
  *pointer = reinterpret_cast<Pointer>(++last);
}

std::string ends(const Memcpy3D& copy) {
  const auto of = [](unsigned type, DevicePointer device, const void* host) {
    return type == kMemoryDevice ? hex(device) : std::string("host");
  };
  return of(copy.destination_type, copy.destination_device, copy.destination_host) + "<-" +
         of(copy.source_type, copy.source_device, copy.source_host);
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT polypath::preload::FakeDriver* fake_driver() { return &state; }

EXPORT Result cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}

EXPORT Result cuDeviceGetCount(int* count) {
  *count = kGpus;
  return kSuccess;
}

EXPORT Result cuGetErrorName(Result, const char** name) {
  *name = "CUDA_ERROR";
  return kSuccess;
}

EXPORT Result cuGetErrorString(Result, const char** text) {
  *text = "as told";
  return kSuccess;
}

EXPORT Result cuDevicePrimaryCtxRetain(ContextPointer* context, Device gpu) {
  *context = context_of(gpu);
  return kSuccess;
}

EXPORT Result cuCtxGetCurrent(ContextPointer* context) {
  *context = contexts.empty() ? nullptr : contexts.back();
  return kSuccess;
}

EXPORT Result cuCtxPushCurrent_v2(ContextPointer context) {
  contexts.push_back(context);
  return kSuccess;
}

EXPORT Result cuCtxPopCurrent_v2(ContextPointer* context) {
  *context = contexts.back();
  contexts.pop_back();
  return kSuccess;
}

EXPORT Result cuDeviceCanAccessPeer(int* possible, Device, Device) {
  *possible = 1;
  return kSuccess;
}

EXPORT Result cuCtxEnablePeerAccess(ContextPointer peer, unsigned) {
  state.peers.push_back((where() + " reaches" + where(peer)).substr(4));
  return kSuccess;
}

EXPORT Result cuIpcOpenMemHandle_v2(DevicePointer* address, IpcHandle handle, unsigned) {
  static DevicePointer next = 0x90000000;
  if (state.refuses_mappings) return kInvalidValue;
  next += 0x1000000;
  *address = next;
  note("open " + hex(handle.bytes[0]) + where() + " at " + hex(next));
  return kSuccess;
}

EXPORT Result cuIpcCloseMemHandle(DevicePointer address) {
  note("close " + hex(address) + where());
  return kSuccess;
}

EXPORT Result cuStreamCreate(StreamPointer* stream, unsigned) {
  give(stream);
  return kSuccess;
}

EXPORT Result cuEventCreate(EventPointer* event, unsigned) {
  give(event);
  return kSuccess;
}

EXPORT Result cuEventRecord(EventPointer event, StreamPointer) {
  note("record " + hex(event) + where());
  return kSuccess;
}

EXPORT Result cuEventSynchronize(EventPointer event) {
  note("wait " + hex(event));
  return kSuccess;
}

EXPORT Result cuMemcpyDtoDAsync_v2(DevicePointer destination, DevicePointer source, std::size_t,
                                   StreamPointer) {
  note("copy " + hex(destination) + "<-" + hex(source) + where());
  return kSuccess;
}

EXPORT Result cuMemcpyDtoHAsync_v2(void*, DevicePointer source, std::size_t, StreamPointer) {
  note("copy host<-" + hex(source) + where());
  return kSuccess;
}

EXPORT Result cuGraphAddMemcpyNode(GraphNodePointer* node, GraphPointer, const GraphNodePointer*,
                                   std::size_t, const Memcpy3D* copy, ContextPointer context) {
  give(node);
  note("node " + ends(*copy) + where(context));
  return kSuccess;
}

EXPORT Result cuGraphExecMemcpyNodeSetParams(GraphExecPointer, GraphNodePointer,
                                             const Memcpy3D* copy, ContextPointer context) {
  note("set " + ends(*copy) + where(context));
  return kSuccess;
}

EXPORT Result cuGraphLaunch(GraphExecPointer, StreamPointer) {
  note("launch");
  return kSuccess;
}
