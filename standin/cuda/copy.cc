// The copy calls: synchronous and asynchronous, from and to anything, one and many.

#include <algorithm>
#include <vector>

#include "standin/state/copies.h"

namespace polypath::standin {
namespace {

Address at(DevicePointer pointer) { return {static_cast<std::uintptr_t>(pointer)}; }
Address at(const void* pointer) { return {reinterpret_cast<std::uintptr_t>(pointer)}; }

CopyArguments any_to_any(DevicePointer to, DevicePointer from, std::size_t bytes) {
  return {at(to), at(from), {bytes}, End::any, End::any};
}
CopyArguments into_device(DevicePointer to, const void* from, std::size_t bytes) {
  return {at(to), at(from), {bytes}, End::known, End::any};
}
CopyArguments out_of_device(void* to, DevicePointer from, std::size_t bytes) {
  return {at(to), at(from), {bytes}, End::any, End::known};
}
CopyArguments between_devices(DevicePointer to, DevicePointer from, std::size_t bytes) {
  return {at(to), at(from), {bytes}, End::known, End::known};
}

Result now(const char* name, const CopyArguments& call, DefaultStream zero) {
  return enter(name, [&](Process& process) {
    return enqueue_copy(process, call, Synchrony::synchronous, {nullptr, zero});
  });
}

Result later(const char* name, const CopyArguments& call, StreamArgument stream) {
  return enter(name, [&](Process& process) {
    return enqueue_copy(process, call, Synchrony::asynchronous, stream);
  });
}

// Both ends' contexts are named, and must be alive.
Result between_contexts(const char* name, const CopyArguments& call, ContextPointer to_context,
                        ContextPointer from_context, Synchrony synchrony, StreamArgument stream) {
  return enter(name, [&](Process& process) {
    (void)process.contexts.find(to_context);
    (void)process.contexts.find(from_context);
    return enqueue_copy(process, call, synchrony, stream);
  });
}

void check_batch_stream(Process& process, StreamArgument stream) {
  if (process.streams.find(stream).legacy)
    refuse(kInvalidValue, "a batch cannot go into the legacy default stream");
}

// CUmemcpyAttributes.
struct BatchAttributes {
  unsigned source_order;
  int hints_and_flags[5];
};

// Whether sources have to be read before the call returns: so these copies are over by then. All
// else that they say is a hint that changes no byte.
Synchrony synchrony_of(const void* attributes, std::size_t kinds) {
  constexpr unsigned kDuringTheCall = 2;
  const auto* const kind = static_cast<const BatchAttributes*>(attributes);
  const bool at_once =
      kind != nullptr && std::any_of(kind, kind + kinds, [](const BatchAttributes& each) {
        return each.source_order == kDuringTheCall;
      });
  return at_once ? Synchrony::synchronous : Synchrony::asynchronous;
}

// One copy after the other, since the stream may have no room for all.
Result batch(DevicePointer* to, DevicePointer* from, std::size_t* bytes, std::size_t count,
             Synchrony synchrony, std::size_t* failed, StreamArgument stream) {
  return enter_unlocked("cuMemcpyBatchAsync", [&](Process& process) {
    if (to == nullptr || from == nullptr || bytes == nullptr || count == 0)
      refuse(kInvalidValue, "there is nothing to copy");
    under_lock(process, [&](Process& locked) { check_batch_stream(locked, stream); });
    for (std::size_t i = 0; i < count; ++i) {
      if (failed != nullptr) *failed = i;
      under_lock(process, [&](Process& locked) {
        return enqueue_copy(locked, any_to_any(to[i], from[i], bytes[i]), synchrony, stream);
      });
    }
    if (failed != nullptr) *failed = SIZE_MAX;
  });
}

}  // namespace
}  // namespace polypath::standin

using namespace polypath::standin;

STANDIN_BOTH(cuMemcpy, _ptds, (DevicePointer to, DevicePointer from, std::size_t bytes),
             now("cuMemcpy", any_to_any(to, from, bytes), kZero))
STANDIN_BOTH(cuMemcpyHtoD_v2, _ptds, (DevicePointer to, const void* from, std::size_t bytes),
             now("cuMemcpyHtoD", into_device(to, from, bytes), kZero))
STANDIN_BOTH(cuMemcpyDtoH_v2, _ptds, (void* to, DevicePointer from, std::size_t bytes),
             now("cuMemcpyDtoH", out_of_device(to, from, bytes), kZero))
STANDIN_BOTH(cuMemcpyDtoD_v2, _ptds, (DevicePointer to, DevicePointer from, std::size_t bytes),
             now("cuMemcpyDtoD", between_devices(to, from, bytes), kZero))
STANDIN_BOTH(cuMemcpyPeer, _ptds,
             (DevicePointer to, ContextPointer to_context, DevicePointer from,
              ContextPointer from_context, std::size_t bytes),
             between_contexts("cuMemcpyPeer", between_devices(to, from, bytes), to_context,
                              from_context, Synchrony::synchronous, {nullptr, kZero}))

STANDIN_BOTH(cuMemcpyAsync, _ptsz,
             (DevicePointer to, DevicePointer from, std::size_t bytes, StreamPointer stream),
             later("cuMemcpyAsync", any_to_any(to, from, bytes), {stream, kZero}))
STANDIN_BOTH(cuMemcpyHtoDAsync_v2, _ptsz,
             (DevicePointer to, const void* from, std::size_t bytes, StreamPointer stream),
             later("cuMemcpyHtoDAsync", into_device(to, from, bytes), {stream, kZero}))
STANDIN_BOTH(cuMemcpyDtoHAsync_v2, _ptsz,
             (void* to, DevicePointer from, std::size_t bytes, StreamPointer stream),
             later("cuMemcpyDtoHAsync", out_of_device(to, from, bytes), {stream, kZero}))
STANDIN_BOTH(cuMemcpyDtoDAsync_v2, _ptsz,
             (DevicePointer to, DevicePointer from, std::size_t bytes, StreamPointer stream),
             later("cuMemcpyDtoDAsync", between_devices(to, from, bytes), {stream, kZero}))
STANDIN_BOTH(cuMemcpyPeerAsync, _ptsz,
             (DevicePointer to, ContextPointer to_context, DevicePointer from,
              ContextPointer from_context, std::size_t bytes, StreamPointer stream),
             between_contexts("cuMemcpyPeerAsync", between_devices(to, from, bytes), to_context,
                              from_context, Synchrony::asynchronous, {stream, kZero}))

// As of CUDA 12.8, and as of 13.0.
STANDIN_BOTH(cuMemcpyBatchAsync, _ptsz,
             (DevicePointer * to, DevicePointer* from, std::size_t* bytes, std::size_t count,
              void* attributes, std::size_t*, std::size_t kinds, std::size_t* failed,
              StreamPointer stream),
             batch(to, from, bytes, count, synchrony_of(attributes, kinds), failed,
                   {stream, kZero}))
STANDIN_BOTH(cuMemcpyBatchAsync_v2, _ptsz,
             (DevicePointer * to, DevicePointer* from, std::size_t* bytes, std::size_t count,
              void* attributes, std::size_t*, std::size_t kinds, StreamPointer stream),
             batch(to, from, bytes, count, synchrony_of(attributes, kinds), nullptr,
                   {stream, kZero}))
