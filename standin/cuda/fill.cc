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
Result fill(const char* name, DevicePointer to, Element element, std::size_t count,
            Synchrony synchrony, StreamArgument stream) {
  return enter(name, [&](Process& process) {
    return enqueue_fill(process, {static_cast<std::uintptr_t>(to)}, bytes_of(element), count,
                        synchrony, stream);
  });
}

template <class Element>
Result now(const char* name, DevicePointer to, Element element, std::size_t count,
           DefaultStream zero) {
  return fill(name, to, element, count, Synchrony::synchronous, {nullptr, zero});
}

template <class Element>
Result later(const char* name, DevicePointer to, Element element, std::size_t count,
             StreamArgument stream) {
  return fill(name, to, element, count, Synchrony::asynchronous, stream);
}

}  // namespace
}  // namespace polypath::standin

using namespace polypath::standin;

STANDIN_BOTH(cuMemsetD8_v2, _ptds, (DevicePointer to, unsigned char value, std::size_t count),
             now("cuMemsetD8", to, value, count, kZero))
STANDIN_BOTH(cuMemsetD16_v2, _ptds, (DevicePointer to, unsigned short value, std::size_t count),
             now("cuMemsetD16", to, value, count, kZero))
STANDIN_BOTH(cuMemsetD32_v2, _ptds, (DevicePointer to, unsigned value, std::size_t count),
             now("cuMemsetD32", to, value, count, kZero))
STANDIN_BOTH(cuMemsetD8Async, _ptsz,
             (DevicePointer to, unsigned char value, std::size_t count, StreamPointer stream),
             later("cuMemsetD8Async", to, value, count, {stream, kZero}))
STANDIN_BOTH(cuMemsetD16Async, _ptsz,
             (DevicePointer to, unsigned short value, std::size_t count, StreamPointer stream),
             later("cuMemsetD16Async", to, value, count, {stream, kZero}))
STANDIN_BOTH(cuMemsetD32Async, _ptsz,
             (DevicePointer to, unsigned value, std::size_t count, StreamPointer stream),
             later("cuMemsetD32Async", to, value, count, {stream, kZero}))
