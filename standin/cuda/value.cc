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

// Runs a step, or adds it to what is captured.
void enqueue(Process& process, const ValueStep& step, StreamArgument argument) {
  (void)process.allocations.get(step.value.address);
  Stream& stream = process.stream(argument, WorkKind::value);
  if (stream.capturing.active()) {
    CopyNode node;
    node.values = {step};
    return add_copy(stream.capturing, std::move(node));
  }
  if (step.waits) process.runner->wait_for_value(step.value, stream.work);
  else process.runner->write_value(step.value, stream.work);
}

template <class Word>
Result wait(const char* name, StreamArgument argument, DevicePointer address, Word wanted,
            unsigned flags) {
  return enter(name, [&](Process& process) {
    MemoryValue value = value_at(address, wanted, sizeof wanted);
    value.comparison = comparison_of(flags);
    enqueue(process, {value, true}, argument);
  });
}

template <class Word>
Result write(const char* name, StreamArgument argument, DevicePointer address, Word written) {
  return enter(name, [&](Process& process) {
    enqueue(process, {value_at(address, written, sizeof written), false}, argument);
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
