#include "driver/cuda/cuda_flag.h"

#include <fmt/format.h>

#include <atomic>

#include "core/error.h"
#include "driver/cuda/cuda_driver.h"
#include "driver/cuda/handles.h"
#include "driver/cuda/signal_contexts.h"

namespace polypath::cuda {

void check_flags(Result result, const char* call) {
  if (result == kNotSupported)
    fail(ErrorCode::unsupported, "streams cannot write or await flags",
         std::string(call) + " says that it is not supported here", "Order them by events.");
  check(result, call);
}

// Memory of another process is mapped for one GPU, that of this one may have to be opened to it.
Address CudaDriver::reach_flag(Address address, PlaceId place, int gpu) {
  const Reached reached = imports_.reach(address, contexts_.of(gpu));
  const bool elsewhere = is_gpu(place) && ordinal(place) != gpu;
  if (elsewhere && !imports_.find(address)) contexts_.connect(gpu, ordinal(place));
  return reached.address;
}

void CudaDriver::write_value(StreamHandle stream, Address address, PlaceId place,
                             std::uint32_t value) {
  const Address word = reach_flag(address, place, gpu_of(stream.value));
  const Current current(context_of(stream.value));
  check_flags(cuda_.write_value(pointer_of(stream), word.value, value, kWriteDefault),
              "cuStreamWriteValue32");
}

void CudaDriver::wait_value(StreamHandle stream, Address address, PlaceId place,
                            std::uint32_t value) {
  const Address word = reach_flag(address, place, gpu_of(stream.value));
  const Current current(context_of(stream.value));
  check_flags(cuda_.wait_value(pointer_of(stream), word.value, value, kWaitEqual),
              "cuStreamWaitValue32");
}

// What GPUs read over PCIe is what the caches of the CPUs have.
void CudaDriver::signal(Address address, PlaceId place, std::uint32_t value) {
  if (address.value % sizeof value != 0)
    fail(ErrorCode::invalid_argument, fmt::format("0x{:x} cannot be a flag", address.value),
         "flags have 4 bytes, and lie at multiples of that", "Correct the address.");
  if (is_gpu(place))
    return SignalContexts::of_process().write(ordinal(place), address.value, value);
  auto& word = *reinterpret_cast<std::uint32_t*>(address.value);
  std::atomic_ref(word).store(value, std::memory_order_release);
}

}  // namespace polypath::cuda
