#include "driver/cuda/cuda_flag.h"

#include <fmt/format.h>

#include <atomic>

#include "core/error.h"
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

CudaFlags::CudaFlags(const CudaGpus& gpus, Contexts& contexts, PeerLinks& peers,
                     CudaStreams& streams, CudaKernels& kernels)
    : cuda_(functions()),
      gpus_(gpus),
      contexts_(contexts),
      peers_(peers),
      streams_(streams),
      kernels_(kernels),
      await_kernel_(kernels, contexts, &await_flag_kernel) {}

// Memory of another process is mapped for one GPU, that of this one may have to be opened to it.
Address CudaFlags::reach(Address address, PlaceId place, int gpu) {
  const Reached reached = imports_.reach(address, contexts_.of(gpu));
  const bool elsewhere = gpus_.is_gpu(place) && gpus_.ordinal(place) != gpu;
  if (elsewhere && !imports_.find(address)) peers_.require(gpu, gpus_.ordinal(place));
  return reached.address;
}

void CudaFlags::write_value(StreamHandle stream, Address address, PlaceId place,
                            std::uint32_t value) {
  const Address word = reach(address, place, gpus_.of_handle(stream.value));
  const Current current(streams_.context_of(stream));
  check_flags(cuda_.write_value(pointer_of(stream), word.value, value, kWriteDefault),
              "cuStreamWriteValue32");
}

void CudaFlags::wait_value(StreamHandle stream, Address address, PlaceId place,
                           std::uint32_t value) {
  const Address word = reach(address, place, gpus_.of_handle(stream.value));
  const Current current(streams_.context_of(stream));
  check_flags(cuda_.wait_value(pointer_of(stream), word.value, value, kWaitEqual),
              "cuStreamWaitValue32");
}

// In a graph, kernels are awaited for by a kernel (await_flag.h), if the flag is in the GPU's own
// memory. Copies are not: theirs would have to cross from one queue of the hardware to another.
void CudaFlags::await(const FlagRequest& flag, StreamHandle stream) {
  const bool by_kernel =
      flag.before_kernels && flag.then && flag.place == flag.gpu && has_kernel_images();
  if (!by_kernel || !streams_.is_capturing(stream)) {
    wait_value(stream, flag.address, flag.place, flag.value);
    if (flag.then) write_value(stream, flag.address, flag.place, *flag.then);
    return;
  }
  kernels_.run({.kernel = await_kernel_.of(flag.gpu),
                .gpu = flag.gpu,
                .memory = {{.address = flag.address,
                            .place = flag.place,
                            .bytes = Bytes{sizeof(std::uint32_t)},
                            .writes = true}},
                .values = await_flag_values(flag.value, *flag.then)},
               stream);
}

// GPUs read over PCIe the contents of the CPUs' caches.
void CudaFlags::signal(Address address, PlaceId place, std::uint32_t value) {
  if (address.value % sizeof value != 0)
    fail(ErrorCode::invalid_argument, fmt::format("0x{:x} cannot be a flag", address.value),
         "flags have 4 bytes, and lie at multiples of that", "Correct the address.");
  if (gpus_.is_gpu(place))
    return SignalContexts::of_process().write(gpus_.ordinal(place), address.value, value);
  auto& word = *reinterpret_cast<std::uint32_t*>(address.value);
  std::atomic_ref(word).store(value, std::memory_order_release);
}

}  // namespace polypath::cuda
