#include "mpi/staging.h"

#include <memory>

#include "core/error.h"

namespace polypath::mpi {
namespace {

// Waited for: the bytes are there when it returns.
void copy(const Surroundings& around, const void* from, void* to, std::size_t bytes, PlaceId gpu) {
  const auto at = [](const void* memory) {
    return Address{reinterpret_cast<std::uintptr_t>(memory)};
  };
  const StreamHandle stream = around.default_stream(gpu);
  around.driver.copy_native({.destination = at(to), .source = at(from), .bytes = {bytes}}, stream);
  around.driver.synchronize(stream);
}

// The bytes of one side in the host, while the call lasts.
class HostCopy {
 public:
  HostCopy(const Library& library, const Surroundings& around, const Side& side, GpuOf gpu_of)
      : around_(around), memory_(static_cast<std::byte*>(side.memory)) {
    if (side.memory == nullptr || side.memory == library.in_place || !gpu_of(side.memory)) return;
    range_ = range_of(library, side);
    if (range_.is_empty()) return;
    const auto memory = around.driver.find_memory(at(memory_ + range_.begin));
    if (!memory) return;
    gpu_ = memory->place;
    bytes_ = std::make_unique<std::byte[]>(size());
    copy(around_, memory_ + range_.begin, bytes_.get(), size(), gpu_);
  }

  [[nodiscard]] void* memory() const {
    return bytes_ == nullptr ? static_cast<void*>(memory_) : bytes_.get() - range_.begin;
  }
  void give_back() {
    if (bytes_ != nullptr) copy(around_, bytes_.get(), memory_ + range_.begin, size(), gpu_);
  }

 private:
  static Address at(const std::byte* memory) { return {reinterpret_cast<std::uintptr_t>(memory)}; }
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(range_.end - range_.begin);
  }

  const Surroundings& around_;
  std::byte* memory_;
  Range range_;
  PlaceId gpu_;
  std::unique_ptr<std::byte[]> bytes_;
};

}  // namespace

// What is received is copied first, too: bytes that the call leaves alone stay what they are, and
// in place they are what is sent.
Result run_staged(const Library& library, const Surroundings& around, const Call& call,
                  GpuOf gpu_of, const RealCall& real) {
  HostCopy received(library, around, call.receive, gpu_of);
  if (call.operation == Operation::broadcast) {
    const Result result = real(received.memory(), received.memory());
    if (result == kSuccess) received.give_back();
    return result;
  }
  const HostCopy sent(library, around, call.send, gpu_of);
  const Result result = real(sent.memory(), received.memory());
  if (result == kSuccess) received.give_back();
  return result;
}

}  // namespace polypath::mpi
