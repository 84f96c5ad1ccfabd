#include "standin/state/copies.h"

#include <fmt/format.h>
#include <sys/uio.h>

#include <cerrno>

namespace polypath::standin {
namespace {

// True if the process can read the byte: whoever passes an address that is nobody's gets an error
// and no crash.
bool is_readable(std::uintptr_t address) {
  char byte = 0;
  const iovec to{&byte, 1}, from{reinterpret_cast<void*>(address), 1};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1 || errno != EFAULT;
}

// Memory that the driver does not know, as pageable memory for the time of one copy.
class Pageable {
 public:
  Pageable(Process& process, Address begin, Bytes bytes, End end)
      : driver_(process.driver), begin_(begin) {
    if (process.allocations.find(begin) != nullptr) return;
    if (end == End::known) refuse(kInvalidValue, "the driver knows no memory there");
    if (!is_readable(begin.value) || !is_readable(begin.value + bytes.value - 1))
      refuse(kInvalidValue, fmt::format("there is no memory at 0x{:x}", begin.value));
    driver_.add_pageable(begin, bytes);
    declared_ = true;
  }
  Pageable(const Pageable&) = delete;
  Pageable& operator=(const Pageable&) = delete;
  ~Pageable() {
    if (declared_) driver_.remove_pageable(begin_);
  }

  [[nodiscard]] bool declared() const { return declared_; }

 private:
  sim::SimDriver& driver_;
  Address begin_;
  bool declared_ = false;
};

bool is_on_gpu(const Allocation* memory) {
  return memory != nullptr &&
         (memory->origin == MemoryOrigin::device || memory->origin == MemoryOrigin::imported);
}

bool wants_synchronous(const Allocation* memory) {
  return memory != nullptr && memory->synchronous_copies;
}

void run(Process& process, const CopyCall& call, Stream& stream) {
  const Pageable to(process, call.destination, call.bytes, call.destination_end);
  const Pageable from(process, call.source, call.bytes, call.source_end);
  process.driver.copy_native({call.destination, call.source, call.bytes, {}}, stream.work);
}

void capture(Process& process, const CopyCall& call, Stream& stream) {
  if (process.allocations.find(call.destination) == nullptr ||
      process.allocations.find(call.source) == nullptr)
    spoil(stream.capturing, kCaptureUnsupported, "pageable memory cannot be in a graph here");
  add_copy(stream.capturing, {call.destination, call.source, call.bytes, {}});
}

}  // namespace

void enqueue_copy(Process& process, const CopyCall& call, StreamArgument argument) {
  (void)process.contexts.current();
  Stream& stream = process.stream(argument);
  if (call.bytes.value == 0 || call.destination == call.source) return;
  if (stream.capturing.active()) capture(process, call, stream);
  else run(process, call, stream);
}

void copy_now(Process& process, const CopyCall& call, StreamArgument argument) {
  enqueue_copy(process, call, argument);
  const Allocation* to = process.allocations.find(call.destination);
  const Allocation* from = process.allocations.find(call.source);
  const bool waits = !is_on_gpu(to) || !is_on_gpu(from);
  if (waits || wants_synchronous(to) || wants_synchronous(from))
    process.streams.synchronize(process.streams.find(argument));
}

void enqueue_fill(Process& process, Address destination, const std::vector<std::byte>& element,
                  std::uint64_t count, StreamArgument argument) {
  (void)process.contexts.current();
  (void)process.allocations.get(destination);
  Stream& stream = process.stream(argument);
  if (stream.capturing.active())
    spoil(stream.capturing, kCaptureUnsupported, "graphs here have no fills");
  if (count == 0) return;
  process.driver.fill(destination, Bytes{element.size()} * count, element, stream.work);
}

}  // namespace polypath::standin
