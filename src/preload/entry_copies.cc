// The driver's copy calls as the program finds them.

#include "preload/interposer.h"
#include "preload/real_driver.h"

namespace polypath::preload {
namespace {

Address address_of(DevicePointer pointer) { return {static_cast<std::uintptr_t>(pointer)}; }
Address address_of(const void* pointer) { return {reinterpret_cast<std::uintptr_t>(pointer)}; }

constexpr Between between(DevicePointer, DevicePointer) { return Between::gpus; }
constexpr Between between(DevicePointer, const void*) { return Between::host_gpu; }
constexpr Between between(void*, DevicePointer) { return Between::host_gpu; }

// The forms that do not say what their ends are.
constexpr bool kTellsEnds = true;
constexpr bool kTellsNothing = false;

template <auto Call, DefaultStream Null, bool TellsEnds, class Destination, class Source>
Result copy(Destination destination, Source source, std::size_t bytes, StreamPointer stream) {
  Interposer& interposer = Interposer::get();
  if (!interposer.passes_at_once({bytes}) &&
      interposer.take({address_of(destination),
                       address_of(source),
                       {bytes},
                       TellsEnds ? between(destination, source) : Between::any,
                       stream_of(stream, Null),
                       false}))
    return cuda::kSuccess;
  return (real().*Call)(destination, source, bytes, stream);
}

template <auto Call, DefaultStream Null, bool TellsEnds, class Destination, class Source>
Result blocking_copy(Destination destination, Source source, std::size_t bytes) {
  Interposer& interposer = Interposer::get();
  if (!interposer.passes_at_once({bytes}) &&
      interposer.take({address_of(destination),
                       address_of(source),
                       {bytes},
                       TellsEnds ? between(destination, source) : Between::any,
                       stream_of(nullptr, Null),
                       true}))
    return cuda::kSuccess;
  return (real().*Call)(destination, source, bytes);
}

// Unified addresses say the same as the contexts do.
template <auto Call, DefaultStream Null>
Result peer_copy(DevicePointer destination, ContextPointer destination_context,
                 DevicePointer source, ContextPointer source_context, std::size_t bytes,
                 StreamPointer stream) {
  Interposer& interposer = Interposer::get();
  if (!interposer.passes_at_once({bytes}) && interposer.take({address_of(destination),
                                                              address_of(source),
                                                              {bytes},
                                                              Between::gpus,
                                                              stream_of(stream, Null),
                                                              false}))
    return cuda::kSuccess;
  return (real().*Call)(destination, destination_context, source, source_context, bytes, stream);
}

// What is left to the driver in any case.
void count_batch(const std::size_t* sizes, std::size_t count) {
  Bytes bytes;
  for (std::size_t i = 0; sizes != nullptr && i < count; ++i) bytes += Bytes{sizes[i]};
  Interposer::get().count(Outcome::form, bytes);
}

constexpr auto kLegacy = DefaultStream::legacy;
constexpr auto kOwn = DefaultStream::own;

}  // namespace

#define POLYPATH_ASYNC(symbol, null_means, tells, Destination, Source)                             \
  Result symbol(Destination destination, Source source, std::size_t bytes, StreamPointer stream) { \
    return copy<&RealFunctions::symbol, null_means, tells>(destination, source, bytes, stream);    \
  }
#define POLYPATH_BLOCKING(symbol, null_means, tells, Destination, Source)                        \
  Result symbol(Destination destination, Source source, std::size_t bytes) {                     \
    return blocking_copy<&RealFunctions::symbol, null_means, tells>(destination, source, bytes); \
  }

POLYPATH_ASYNC(cuMemcpyAsync, kLegacy, kTellsNothing, DevicePointer, DevicePointer)
POLYPATH_ASYNC(cuMemcpyAsync_ptsz, kOwn, kTellsNothing, DevicePointer, DevicePointer)
POLYPATH_ASYNC(cuMemcpyDtoDAsync_v2, kLegacy, kTellsEnds, DevicePointer, DevicePointer)
POLYPATH_ASYNC(cuMemcpyDtoDAsync_v2_ptsz, kOwn, kTellsEnds, DevicePointer, DevicePointer)
POLYPATH_ASYNC(cuMemcpyHtoDAsync_v2, kLegacy, kTellsEnds, DevicePointer, const void*)
POLYPATH_ASYNC(cuMemcpyHtoDAsync_v2_ptsz, kOwn, kTellsEnds, DevicePointer, const void*)
POLYPATH_ASYNC(cuMemcpyDtoHAsync_v2, kLegacy, kTellsEnds, void*, DevicePointer)
POLYPATH_ASYNC(cuMemcpyDtoHAsync_v2_ptsz, kOwn, kTellsEnds, void*, DevicePointer)
POLYPATH_BLOCKING(cuMemcpy, kLegacy, kTellsNothing, DevicePointer, DevicePointer)
POLYPATH_BLOCKING(cuMemcpy_ptds, kOwn, kTellsNothing, DevicePointer, DevicePointer)
POLYPATH_BLOCKING(cuMemcpyDtoD_v2, kLegacy, kTellsEnds, DevicePointer, DevicePointer)
POLYPATH_BLOCKING(cuMemcpyDtoD_v2_ptds, kOwn, kTellsEnds, DevicePointer, DevicePointer)
POLYPATH_BLOCKING(cuMemcpyHtoD_v2, kLegacy, kTellsEnds, DevicePointer, const void*)
POLYPATH_BLOCKING(cuMemcpyHtoD_v2_ptds, kOwn, kTellsEnds, DevicePointer, const void*)
POLYPATH_BLOCKING(cuMemcpyDtoH_v2, kLegacy, kTellsEnds, void*, DevicePointer)
POLYPATH_BLOCKING(cuMemcpyDtoH_v2_ptds, kOwn, kTellsEnds, void*, DevicePointer)

#undef POLYPATH_ASYNC
#undef POLYPATH_BLOCKING

Result cuMemcpyPeerAsync(DevicePointer destination, ContextPointer destination_context,
                         DevicePointer source, ContextPointer source_context, std::size_t bytes,
                         StreamPointer stream) {
  return peer_copy<&RealFunctions::cuMemcpyPeerAsync, kLegacy>(
      destination, destination_context, source, source_context, bytes, stream);
}

Result cuMemcpyPeerAsync_ptsz(DevicePointer destination, ContextPointer destination_context,
                              DevicePointer source, ContextPointer source_context,
                              std::size_t bytes, StreamPointer stream) {
  return peer_copy<&RealFunctions::cuMemcpyPeerAsync_ptsz, kOwn>(
      destination, destination_context, source, source_context, bytes, stream);
}

// It waits for all work of three contexts, which is not worth doing again.
#define POLYPATH_BLOCKING_PEER(symbol)                                                     \
  Result symbol(DevicePointer destination, ContextPointer destination_context,             \
                DevicePointer source, ContextPointer source_context, std::size_t bytes) {  \
    Interposer::get().count(Outcome::form, {bytes});                                       \
    return real().symbol(destination, destination_context, source, source_context, bytes); \
  }
POLYPATH_BLOCKING_PEER(cuMemcpyPeer)
POLYPATH_BLOCKING_PEER(cuMemcpyPeer_ptds)
#undef POLYPATH_BLOCKING_PEER

#define POLYPATH_OLD_BATCH(symbol)                                                                \
  Result symbol(DevicePointer* destinations, DevicePointer* sources, std::size_t* sizes,          \
                std::size_t count, void* attributes, std::size_t* indices, std::size_t kinds,     \
                std::size_t* failed, StreamPointer stream) {                                      \
    count_batch(sizes, count);                                                                    \
    return real().symbol(destinations, sources, sizes, count, attributes, indices, kinds, failed, \
                         stream);                                                                 \
  }
POLYPATH_OLD_BATCH(cuMemcpyBatchAsync)
POLYPATH_OLD_BATCH(cuMemcpyBatchAsync_ptsz)
#undef POLYPATH_OLD_BATCH

#define POLYPATH_BATCH(symbol)                                                                     \
  Result symbol(DevicePointer* destinations, DevicePointer* sources, std::size_t* sizes,           \
                std::size_t count, void* attributes, std::size_t* indices, std::size_t kinds,      \
                StreamPointer stream) {                                                            \
    count_batch(sizes, count);                                                                     \
    return real().symbol(destinations, sources, sizes, count, attributes, indices, kinds, stream); \
  }
POLYPATH_BATCH(cuMemcpyBatchAsync_v2)
POLYPATH_BATCH(cuMemcpyBatchAsync_v2_ptsz)
#undef POLYPATH_BATCH

}  // namespace polypath::preload
