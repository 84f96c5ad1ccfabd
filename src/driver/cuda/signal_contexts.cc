#include "driver/cuda/signal_contexts.h"

#include "driver/cuda/contexts.h"
#include "driver/cuda/cuda_api.h"
#include "driver/cuda/cuda_flag.h"

namespace polypath::cuda {

SignalContexts& SignalContexts::of_process() {
  static auto& contexts = *new SignalContexts;
  return contexts;
}

const SignalContexts::Own& SignalContexts::own(Device gpu) {
  const Functions& cuda = DriverLibrary::get().functions;
  Own& made = own_[gpu];
  if (made.context == nullptr) made.context = make_context(gpu);
  if (made.stream == nullptr) {
    const Current current(made.context);
    check(cuda.stream_create(&made.stream, kStreamNonBlocking), "cuStreamCreate");
  }
  return made;
}

void SignalContexts::write(Device gpu, DevicePointer word, std::uint32_t value) {
  const Functions& cuda = DriverLibrary::get().functions;
  const std::scoped_lock lock(mutex_);
  const Own& used = own(gpu);
  const Current current(used.context);
  check_flags(cuda.write_value(used.stream, word, value, kWriteDefault), "cuStreamWriteValue32");
  check(cuda.stream_synchronize(used.stream), "cuStreamSynchronize");
}

}  // namespace polypath::cuda
