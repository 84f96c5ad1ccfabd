// The driver's copy calls as the program finds them.

#include <algorithm>
#include <array>
#include <optional>

#include "api/preload/interposer.h"
#include "api/preload/real_driver.h"

namespace polypath::preload {
namespace {

Address address_of(DevicePointer pointer) { return {static_cast<std::uintptr_t>(pointer)}; }
Address address_of(const void* pointer) { return {reinterpret_cast<std::uintptr_t>(pointer)}; }

bool passes_at_once(std::size_t bytes) { return Interposer::get().passes_at_once({bytes}); }

// Takes the copy, or makes the program's own call, which holds its arguments by value: so they need
// no place in memory where the copy passes at once.
template <class Destination, class Source, class Call>
Result take_or_make(Destination destination, Source source, std::size_t bytes, StreamPointer stream,
                    bool blocking, const Call& call) {
  Interposer& interposer = Interposer::get();
  const ProgramCopy asked{address_of(destination), address_of(source), {bytes}, stream, blocking};
  if (interposer.goes_first(asked)) {
    const Result result = call();
    interposer.count_native(asked);
    return result;
  }
  const auto done = interposer.take(asked, RealCall(call));
  return done ? *done : call();
}

template <auto Call, NullStream Null, class Destination, class Source>
Result copy(Destination destination, Source source, std::size_t bytes, StreamPointer stream) {
  if (passes_at_once(bytes)) return (real().*Call)(destination, source, bytes, stream);
  return take_or_make(destination, source, bytes, stream_of(stream, Null), false,
                      [=] { return (real().*Call)(destination, source, bytes, stream); });
}

template <auto Call, NullStream Null, class Destination, class Source>
Result blocking_copy(Destination destination, Source source, std::size_t bytes) {
  if (passes_at_once(bytes)) return (real().*Call)(destination, source, bytes);
  return take_or_make(destination, source, bytes, stream_of(nullptr, Null), true,
                      [=] { return (real().*Call)(destination, source, bytes); });
}

// Unified addresses say the same as the contexts do.
template <auto Call, NullStream Null>
Result peer_copy(DevicePointer destination, ContextPointer destination_context,
                 DevicePointer source, ContextPointer source_context, std::size_t bytes,
                 StreamPointer stream) {
  if (passes_at_once(bytes))
    return (real().*Call)(destination, destination_context, source, source_context, bytes, stream);
  return take_or_make(destination, source, bytes, stream_of(stream, Null), false, [=] {
    return (real().*Call)(destination, destination_context, source, source_context, bytes, stream);
  });
}

// As cuda.h has it, to the end of what is read.
struct BatchAttributes {
  unsigned source_order;
  std::array<int, 5> hints_and_flags;
};
static_assert(sizeof(BatchAttributes) == 24);

// Sources that are to be read before the call returns cannot be read by copies of several streams.
bool are_read_in_order(const void* attributes, std::size_t kinds) {
  constexpr unsigned kInStreamOrder = 1, kInAnyOrder = 3;
  const auto* kind = static_cast<const BatchAttributes*>(attributes);
  return kind != nullptr && kinds > 0 &&
         std::all_of(kind, kind + kinds, [](const BatchAttributes& each) {
           return each.source_order == kInStreamOrder || each.source_order == kInAnyOrder;
         });
}

// The result that the call returns; none if the driver is to be called.
std::optional<Result> take_batch(const ProgramBatch& batch, const void* attributes,
                                 std::size_t kinds) {
  if (batch.sizes.data() == nullptr || batch.destinations.data() == nullptr ||
      batch.sources.data() == nullptr || batch.sizes.empty())
    return std::nullopt;
  Interposer& interposer = Interposer::get();
  if (are_read_in_order(attributes, kinds)) return interposer.take(batch);
  interposer.count(Outcome::form, batch.bytes());
  return std::nullopt;
}

constexpr auto kLegacy = NullStream::legacy;
constexpr auto kOwn = NullStream::own;

}  // namespace

#define POLYPATH_ASYNC(symbol, null_means, Destination, Source)                                    \
  Result symbol(Destination destination, Source source, std::size_t bytes, StreamPointer stream) { \
    return copy<&RealFunctions::symbol, null_means>(destination, source, bytes, stream);           \
  }
#define POLYPATH_BLOCKING(symbol, null_means, Destination, Source)                        \
  Result symbol(Destination destination, Source source, std::size_t bytes) {              \
    return blocking_copy<&RealFunctions::symbol, null_means>(destination, source, bytes); \
  }

POLYPATH_ASYNC(cuMemcpyAsync, kLegacy, DevicePointer, DevicePointer)
POLYPATH_ASYNC(cuMemcpyAsync_ptsz, kOwn, DevicePointer, DevicePointer)
POLYPATH_ASYNC(cuMemcpyDtoDAsync_v2, kLegacy, DevicePointer, DevicePointer)
POLYPATH_ASYNC(cuMemcpyDtoDAsync_v2_ptsz, kOwn, DevicePointer, DevicePointer)
POLYPATH_ASYNC(cuMemcpyHtoDAsync_v2, kLegacy, DevicePointer, const void*)
POLYPATH_ASYNC(cuMemcpyHtoDAsync_v2_ptsz, kOwn, DevicePointer, const void*)
POLYPATH_ASYNC(cuMemcpyDtoHAsync_v2, kLegacy, void*, DevicePointer)
POLYPATH_ASYNC(cuMemcpyDtoHAsync_v2_ptsz, kOwn, void*, DevicePointer)
POLYPATH_BLOCKING(cuMemcpy, kLegacy, DevicePointer, DevicePointer)
POLYPATH_BLOCKING(cuMemcpy_ptds, kOwn, DevicePointer, DevicePointer)
POLYPATH_BLOCKING(cuMemcpyDtoD_v2, kLegacy, DevicePointer, DevicePointer)
POLYPATH_BLOCKING(cuMemcpyDtoD_v2_ptds, kOwn, DevicePointer, DevicePointer)
POLYPATH_BLOCKING(cuMemcpyHtoD_v2, kLegacy, DevicePointer, const void*)
POLYPATH_BLOCKING(cuMemcpyHtoD_v2_ptds, kOwn, DevicePointer, const void*)
POLYPATH_BLOCKING(cuMemcpyDtoH_v2, kLegacy, void*, DevicePointer)
POLYPATH_BLOCKING(cuMemcpyDtoH_v2_ptds, kOwn, void*, DevicePointer)

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

#define POLYPATH_OLD_BATCH(symbol, null_means)                                                    \
  Result symbol(DevicePointer* destinations, DevicePointer* sources, std::size_t* sizes,          \
                std::size_t count, void* attributes, std::size_t* indices, std::size_t kinds,     \
                std::size_t* failed, StreamPointer stream) {                                      \
    const ProgramBatch batch{                                                                     \
        {destinations, count}, {sources, count}, {sizes, count}, stream_of(stream, null_means)};  \
    if (const auto done = take_batch(batch, attributes, kinds)) return *done;                     \
    return real().symbol(destinations, sources, sizes, count, attributes, indices, kinds, failed, \
                         stream);                                                                 \
  }
POLYPATH_OLD_BATCH(cuMemcpyBatchAsync, kLegacy)
POLYPATH_OLD_BATCH(cuMemcpyBatchAsync_ptsz, kOwn)
#undef POLYPATH_OLD_BATCH

#define POLYPATH_BATCH(symbol, null_means)                                                         \
  Result symbol(DevicePointer* destinations, DevicePointer* sources, std::size_t* sizes,           \
                std::size_t count, void* attributes, std::size_t* indices, std::size_t kinds,      \
                StreamPointer stream) {                                                            \
    const ProgramBatch batch{                                                                      \
        {destinations, count}, {sources, count}, {sizes, count}, stream_of(stream, null_means)};   \
    if (const auto done = take_batch(batch, attributes, kinds)) return *done;                      \
    return real().symbol(destinations, sources, sizes, count, attributes, indices, kinds, stream); \
  }
POLYPATH_BATCH(cuMemcpyBatchAsync_v2, kLegacy)
POLYPATH_BATCH(cuMemcpyBatchAsync_v2_ptsz, kOwn)
#undef POLYPATH_BATCH

}  // namespace polypath::preload
