// The fill calls.

#include <cstring>

#include "standin/state/copies.h"

namespace polypath::standin {
namespace {

template <class Element>
std::vector<std::byte> bytes_of(Element element) {
  std::vector<std::byte> bytes(sizeof element);
  std::memcpy(bytes.data(), &element, sizeof element);
  return bytes;
}

template <class Element>
Result fill(DevicePointer to, Element element, std::size_t count, StreamArgument stream) {
  return enter("cuMemset", [&](Process& process) {
    enqueue_fill(process, {static_cast<std::uintptr_t>(to)}, bytes_of(element), count, stream);
  });
}

// CUDA does not wait for device memory to be filled, only for memory that the host can touch.
template <class Element>
Result fill_now(DevicePointer to, Element element, std::size_t count, DefaultStream zero) {
  return enter("cuMemset", [&](Process& process) {
    const Address address{static_cast<std::uintptr_t>(to)};
    enqueue_fill(process, address, bytes_of(element), count, {nullptr, zero});
    const MemoryOrigin origin = process.allocations.get(address).origin;
    if (origin != MemoryOrigin::device && origin != MemoryOrigin::imported)
      process.streams.synchronize(process.streams.find({nullptr, zero}));
  });
}

}  // namespace
}  // namespace polypath::standin

using namespace polypath::standin;

STANDIN_BOTH(cuMemsetD8_v2, _ptds, (DevicePointer to, unsigned char value, std::size_t count),
             fill_now(to, value, count, kZero))
STANDIN_BOTH(cuMemsetD16_v2, _ptds, (DevicePointer to, unsigned short value, std::size_t count),
             fill_now(to, value, count, kZero))
STANDIN_BOTH(cuMemsetD32_v2, _ptds, (DevicePointer to, unsigned value, std::size_t count),
             fill_now(to, value, count, kZero))
STANDIN_BOTH(cuMemsetD8Async, _ptsz,
             (DevicePointer to, unsigned char value, std::size_t count, StreamPointer stream),
             fill(to, value, count, {stream, kZero}))
STANDIN_BOTH(cuMemsetD16Async, _ptsz,
             (DevicePointer to, unsigned short value, std::size_t count, StreamPointer stream),
             fill(to, value, count, {stream, kZero}))
STANDIN_BOTH(cuMemsetD32Async, _ptsz,
             (DevicePointer to, unsigned value, std::size_t count, StreamPointer stream),
             fill(to, value, count, {stream, kZero}))
