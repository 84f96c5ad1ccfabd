#pragma once
// The CUDA driver's layer, and memory of another process in the process's own table.

#include "api/preload/imports/imported_memory.h"
#include "driver/cuda/cuda_driver.h"
#include "driver/cuda/handles.h"
#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test {

class DriverOfImports : public ImportedMemoryTest {
 protected:
  static constexpr Bytes kOffset = 16_B;

  DriverOfImports() {
    driver_.imports().add(memory(), exported);
    (void)journal();
  }
  ~DriverOfImports() override { driver_.imports().remove(base_); }

  [[nodiscard]] PlaceId gpu(int number) const {
    return machine_.places_of(PlaceKind::gpu)[static_cast<std::size_t>(number)];
  }
  /// A copy of a part of it from its owner to new memory.
  [[nodiscard]] CopyRequest to(int number) {
    return {allocate(number, kCopied), gpu(number), base_ + kOffset, gpu(0), kCopied, {}};
  }
  StreamHandle programs_stream(int number) {
    return driver_.foreign_stream(gpu(number), reinterpret_cast<std::uintptr_t>(stream(number)));
  }
  /// The part of the contents that is copied.
  static Contents part(const Contents& all) {
    const auto begin = all.begin() + kOffset.value;
    return {begin, begin + kCopied.value};
  }
  static Contents at_the_programs_address() { return part(contents(0)); }
  Contents arrived(const CopyRequest& copy, StreamHandle stream) {
    driver_.synchronize(stream);
    return read(copy.destination, kCopied);
  }
  /// Nothing that is queued uses the mapping any more once the program unmaps its own.
  testing::AssertionResult unmapping_waits_for(StreamHandle stream) {
    if (is_idle(cuda::pointer_of(stream))) return testing::AssertionFailure() << "it is idle";
    driver_.imports().remove(base_);
    if (is_idle(cuda::pointer_of(stream))) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "the mapping is gone, and the copy is still queued";
  }

  Machine machine_ = load_machine("h200x4");
  cuda::CudaDriver driver_{machine_};
};

}  // namespace polypath::test
