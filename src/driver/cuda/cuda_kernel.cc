#include "driver/cuda/cuda_kernel.h"

#include <fmt/format.h>

#include <memory>

#include "core/error.h"
#include "driver/cuda/handles.h"

namespace polypath::cuda {
namespace {

// Whoever gave us the image can do something about these, and nobody else.
bool is_about_image(Result result) {
  return result == kInvalidImage || result == kNoBinaryForGpu || result == kInvalidPtx ||
         result == kUnsupportedPtxVersion || result == kNotFound;
}

void check_image(const Functions& cuda, Result result, const std::string& name, const char* call) {
  if (result == kNotSupported)
    fail(ErrorCode::unsupported, fmt::format("kernel '{}' cannot be loaded", name),
         "this libcuda runs no kernels", "Use a GPU, or simulate a machine.");
  if (!is_about_image(result)) return check(result, call);
  const char* what = "unknown";
  (void)cuda.error_name(result, &what);
  fail(ErrorCode::invalid_argument, fmt::format("kernel '{}' cannot be loaded", name),
       fmt::format("{} says {}", call, what),
       "Give PTX or a cubin for this GPU that has a function of that name.");
}

}  // namespace

KernelRun::KernelRun(FunctionPointer function, const KernelRequest& request) {
  for (const KernelMemory& memory : request.memory) words_.push_back(memory.address.value);
  words_.insert(words_.end(), request.values.begin(), request.values.end());
  for (std::uint64_t& word : words_) pointers_.push_back(&word);
  parameters_.function = function;
  parameters_.blocks[0] = request.shape.blocks;
  parameters_.threads_per_block[0] = request.shape.threads_per_block;
  parameters_.parameters = pointers_.data();
}

KernelHandle CudaDriver::load_kernel(PlaceId gpu, const Kernel& kernel) {
  if (kernel.image.empty())
    fail(ErrorCode::invalid_argument, fmt::format("kernel '{}' cannot be loaded", kernel.name),
         "it has no image for GPUs", "Give it PTX or a cubin.");
  const RelaxedCapture relaxed;
  auto loaded = std::make_unique<LoadedKernel>();
  loaded->gpu = gpu;
  loaded->context = contexts_.of(ordinal(gpu));
  const Current current(loaded->context);
  check_image(cuda_, cuda_.module_load(&loaded->module, kernel.image.c_str()), kernel.name,
              "cuModuleLoadData");
  const Result found =
      cuda_.module_function(&loaded->function, loaded->module, kernel.name.c_str());
  if (found != kSuccess) (void)cuda_.module_unload(loaded->module);
  check_image(cuda_, found, kernel.name, "cuModuleGetFunction");
  return {reinterpret_cast<std::uintptr_t>(loaded.release())};
}

void CudaDriver::unload_kernel(KernelHandle kernel) {
  if (kernel.value == 0)
    fail(ErrorCode::invalid_argument, "kernel 0 does not exist", "it is no handle",
         "Pass a handle that load_kernel returned.");
  const RelaxedCapture relaxed;
  const std::unique_ptr<LoadedKernel> loaded(reinterpret_cast<LoadedKernel*>(kernel.value));
  const Current current(loaded->context);
  check(cuda_.module_unload(loaded->module), "cuModuleUnload");
}

// Its memory is reached by the program's own addresses: they are of the GPU that runs it.
const CudaDriver::LoadedKernel& CudaDriver::kernel_of(const KernelRequest& request) const {
  if (request.kernel.value == 0)
    fail(ErrorCode::invalid_argument, "kernel 0 does not exist", "it is no handle",
         "Pass a handle that load_kernel returned.");
  const auto& loaded = *reinterpret_cast<const LoadedKernel*>(request.kernel.value);
  if (loaded.gpu != request.gpu)
    fail(ErrorCode::invalid_argument, "a kernel cannot run there", "it was loaded for another GPU",
         "Load it for that GPU as well.");
  check_kernel(request);
  return loaded;
}

void CudaDriver::run(const KernelRequest& request, StreamHandle stream) {
  const LoadedKernel& loaded = kernel_of(request);
  const KernelRun made(loaded.function, request);
  const KernelParameters& run = made.parameters();
  const Current current(loaded.context);
  check(cuda_.launch_kernel(run.function, run.blocks[0], run.blocks[1], run.blocks[2],
                            run.threads_per_block[0], run.threads_per_block[1],
                            run.threads_per_block[2], run.shared_bytes, pointer_of(stream),
                            run.parameters, run.extra),
        "cuLaunchKernel");
}

}  // namespace polypath::cuda
