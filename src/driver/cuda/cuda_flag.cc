#include "driver/cuda/cuda_flag.h"

#include <fmt/format.h>

#include <atomic>

#include "core/error.h"
#include "driver/cuda/cuda_driver.h"
#include "driver/cuda/handles.h"
#include "driver/cuda/signal_contexts.h"
#include "kernels/await_flag.h"
#include "kernels/images.h"

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
  if (elsewhere && !imports_.find(address)) contexts_.require(gpu, ordinal(place));
  return reached.address;
}

void CudaDriver::write_value(StreamHandle stream, Address address, PlaceId place,
                             std::uint32_t value) {
  const Address word = reach_flag(address, place, gpu_of(stream.value));
  const Current current(context_of(stream));
  check_flags(cuda_.write_value(pointer_of(stream), word.value, value, kWriteDefault),
              "cuStreamWriteValue32");
}

void CudaDriver::wait_value(StreamHandle stream, Address address, PlaceId place,
                            std::uint32_t value) {
  const Address word = reach_flag(address, place, gpu_of(stream.value));
  const Current current(context_of(stream));
  check_flags(cuda_.wait_value(pointer_of(stream), word.value, value, kWaitEqual),
              "cuStreamWaitValue32");
}

KernelHandle CudaDriver::await_kernel_of(PlaceId gpu) {
  const std::scoped_lock lock(mutex_);
  KernelHandle& kernel = await_kernels_[gpu];
  if (kernel.value == 0) kernel = load_kernel(gpu, await_flag_kernel());
  return kernel;
}

// In a graph, kernels are awaited for by a kernel (await_flag.h), if the flag is in the GPU's own
// memory. Copies are not: theirs would have to cross from one queue of the hardware to another.
void CudaDriver::await_flag(const FlagRequest& flag, StreamHandle stream) {
  const bool by_kernel =
      flag.before_kernels && flag.then && flag.place == flag.gpu && has_kernel_images();
  if (!by_kernel || !is_capturing(stream)) return Driver::await_flag(flag, stream);
  run({.kernel = await_kernel_of(flag.gpu),
       .gpu = flag.gpu,
       .memory = {{.address = flag.address,
                   .place = flag.place,
                   .bytes = Bytes{sizeof(std::uint32_t)},
                   .writes = true}},
       .values = await_flag_values(flag.value, *flag.then)},
      stream);
}

// GPUs read over PCIe the contents of the CPUs' caches.
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
