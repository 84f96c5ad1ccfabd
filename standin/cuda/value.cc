// Waiting for values in memory and writing them, in stream order.

#include "standin/state/process.h"

namespace polypath::standin {
namespace {

// CUstreamWaitValue_flags; flushing needs no flag here.
constexpr unsigned kFlush = 1U << 30;

Comparison comparison_of(unsigned flags) {
  switch (flags & ~kFlush) {
    case 0: return Comparison::at_least;
    case 1: return Comparison::equal;
    case 2: return Comparison::common_bits;
    case 3: return Comparison::missing_bits;
    default: refuse(kInvalidValue, "there is no such comparison");
  }
}

MemoryValue value_at(DevicePointer address, std::uint64_t value, std::size_t bytes) {
  if (address % bytes != 0) refuse(kInvalidValue, "the address is not aligned");
  return {{static_cast<std::uintptr_t>(address)}, value, {bytes}, Comparison::at_least};
}

Stream& running(Process& process, const MemoryValue& value, StreamArgument argument) {
  (void)process.allocations.get(value.address);
  Stream& stream = process.stream(argument, WorkKind::value);
  if (stream.capturing.active())
    spoil(stream.capturing, kCaptureUnsupported, "graphs here have no values");
  return stream;
}

template <class Word>
Result wait(const char* name, StreamArgument argument, DevicePointer address, Word wanted,
            unsigned flags) {
  return enter(name, [&](Process& process) {
    MemoryValue value = value_at(address, wanted, sizeof wanted);
    value.comparison = comparison_of(flags);
    process.runner->wait_for_value(value, running(process, value, argument).work);
  });
}

template <class Word>
Result write(const char* name, StreamArgument argument, DevicePointer address, Word written) {
  return enter(name, [&](Process& process) {
    const MemoryValue value = value_at(address, written, sizeof written);
    process.runner->write_value(value, running(process, value, argument).work);
  });
}

}  // namespace
}  // namespace polypath::standin

using namespace polypath::standin;

// The old and the new interface differ in what devices have to allow for them.
#define STANDIN_VALUE_FUNCTIONS(suffix)                                                        \
  STANDIN_BOTH(cuStreamWaitValue32##suffix, _ptsz,                                             \
               (StreamPointer stream, DevicePointer address, std::uint32_t value, unsigned f), \
               wait("cuStreamWaitValue32", {stream, kZero}, address, value, f))                \
  STANDIN_BOTH(cuStreamWaitValue64##suffix, _ptsz,                                             \
               (StreamPointer stream, DevicePointer address, std::uint64_t value, unsigned f), \
               wait("cuStreamWaitValue64", {stream, kZero}, address, value, f))                \
  STANDIN_BOTH(cuStreamWriteValue32##suffix, _ptsz,                                            \
               (StreamPointer stream, DevicePointer address, std::uint32_t value, unsigned),   \
               write("cuStreamWriteValue32", {stream, kZero}, address, value))                 \
  STANDIN_BOTH(cuStreamWriteValue64##suffix, _ptsz,                                            \
               (StreamPointer stream, DevicePointer address, std::uint64_t value, unsigned),   \
               write("cuStreamWriteValue64", {stream, kZero}, address, value))
STANDIN_VALUE_FUNCTIONS()
STANDIN_VALUE_FUNCTIONS(_v2)
#undef STANDIN_VALUE_FUNCTIONS
