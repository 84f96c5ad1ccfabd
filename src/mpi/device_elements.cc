#include "mpi/device_elements.h"

#include <utility>

namespace polypath::mpi {
namespace {

Bytes bytes_of(Count count) { return {static_cast<std::uint64_t>(count)}; }

}  // namespace

void Reached::copy(const NativeCopy& copy) const {
  if (around->by_paths && around->by_paths(copy, gpu)) return;
  const StreamHandle stream = around->default_stream(gpu);
  around->driver.copy_native(copy, stream);
  around->driver.synchronize(stream);
}

void Reached::read(void* into, Count bytes) const {
  copy({.destination = address_of(into), .source = address, .bytes = bytes_of(bytes)});
}

void Reached::write(const void* from, Count bytes) const {
  copy({.destination = address, .source = address_of(from), .bytes = bytes_of(bytes)});
}

void DeviceElements::read(std::byte* host) const {
  const Range& range = layout.range;
  if (range.is_empty()) return;
  memory.at(range.begin).read(host + range.begin, range.end - range.begin);
}

void DeviceElements::write(const std::byte* host) const {
  const StreamHandle stream = memory.around->default_stream(memory.gpu);
  for (const Range& run : layout.runs)
    memory.around->driver.copy_native({.destination = memory.at(run.begin).address,
                                       .source = address_of(host + run.begin),
                                       .bytes = bytes_of(run.end - run.begin)},
                                      stream);
  memory.around->driver.synchronize(stream);
}

HostElements::HostElements(DeviceElements device) : device_(std::move(device)) {
  const Range& range = device_.layout.range;
  bytes_ = std::make_unique<std::byte[]>(static_cast<std::size_t>(range.end - range.begin));
}

void HostElements::read() const {
  if (bytes_ != nullptr) device_.read(at());
}

void HostElements::write() const {
  if (bytes_ != nullptr) device_.write(at());
}

}  // namespace polypath::mpi
