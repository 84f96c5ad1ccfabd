#include "driver/cuda/cuda_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/error.h"
#include "core/ignore_errors.h"
#include "driver/cuda/handles.h"

namespace polypath::cuda {
namespace {

// Only the caller that supplied the image can do something about these.
bool is_about_image(Result result) {
  return result == kInvalidImage || result == kNoBinaryForGpu || result == kInvalidPtx ||
         result == kUnsupportedPtxVersion || result == kNotFound;
}

void check_image(const Functions& cuda, Result result, const std::string& name, const char* call) {
  if (result == kNotSupported)
    fail(ErrorCode::unsupported, fmt::format("kernel '{}' cannot be loaded", name),
         "this libcuda runs no kernels", "Use a GPU, or simulate a machine.");
  if (!is_about_image(result)) return check(result, call);
  const char* what = nullptr;
  (void)cuda.error_name(result, &what);
  fail(ErrorCode::invalid_argument, fmt::format("kernel '{}' cannot be loaded", name),
       fmt::format("{} says {}", call, what == nullptr ? "nothing that has a name" : what),
       "Give PTX or a cubin for this GPU that has a function of that name.");
}

// Kernels that wait for those of other GPUs leave some multiprocessors free: else two of them that
// run at the same time, in another order on each GPU, might wait for each other for good.
constexpr int kFreeMultiprocessors = 4;
// Of their threads so many fit on a multiprocessor, with up to 128 registers each.
constexpr unsigned kThreadsThatFit = 512;

unsigned most_that_meet(const Functions& cuda, int gpu) {
  int all = 0;
  if (cuda.device_attribute(&all, kDeviceMultiprocessors, gpu) != kSuccess) return 0;
  return static_cast<unsigned>(std::max(all - kFreeMultiprocessors, 1));
}

}  // namespace

// All of them are of 64 bits, so that they lie in CUDA's buffer as in an array, whether the kernel
// declares them one by one or as one structure.
KernelRun::KernelRun(const CudaKernel& kernel, FunctionPointer function,
                     const KernelRequest& request) {
  const std::size_t words =
      std::max(kernel.parameters, request.values.size() + request.memory.size());
  if (words > few_.size()) many_.resize(words);
  std::uint64_t* const first = many_.empty() ? few_.data() : many_.data();
  std::uint64_t* next = std::copy(request.values.begin(), request.values.end(), first);
  for (const KernelMemory& memory : request.memory) *next++ = memory.address.value;
  bytes_ = words * sizeof(std::uint64_t);
  extra_ = {kParameterBuffer, first, kParameterBufferSize, &bytes_, kParametersEnd};
  parameters_.function = function;
  parameters_.blocks[0] = request.shape.blocks;
  if (request.group && kernel.most_that_meet > 0) {
    const unsigned in_one = std::max(kThreadsThatFit / request.shape.threads_per_block, 1U);
    parameters_.blocks[0] = std::min(parameters_.blocks[0], kernel.most_that_meet * in_one);
  }
  parameters_.threads_per_block[0] = request.shape.threads_per_block;
  parameters_.extra = extra_.data();
}

CudaKernels::CudaKernels(const CudaGpus& gpus, Contexts& contexts, PeerLinks& peers,
                         CudaStreams& streams, CudaMemory& memory)
    : cuda_(functions()),
      gpus_(gpus),
      contexts_(contexts),
      peers_(peers),
      streams_(streams),
      memory_(memory) {}

KernelHandle CudaKernels::load(PlaceId gpu, const Kernel& kernel) {
  if (kernel.image.empty())
    fail(ErrorCode::invalid_argument, fmt::format("kernel '{}' cannot be loaded", kernel.name),
         "it has no image for GPUs", "Give it PTX or a cubin.");
  auto loaded = std::make_unique<CudaKernel>();
  loaded->gpu = gpu;
  loaded->kernel = kernel;
  loaded->parameters = kernel.parameters;
  loaded->ours = load(kernel, contexts_.ours(gpus_.ordinal(gpu)));
  loaded->most_that_meet = most_that_meet(cuda_, gpus_.ordinal(gpu));
  return {reinterpret_cast<std::uintptr_t>(loaded.release())};
}

KernelInContext CudaKernels::load(const Kernel& kernel, ContextPointer context) const {
  const RelaxedCapture relaxed;
  KernelInContext made{.context = context};
  const Current current(context);
  check_image(cuda_, cuda_.module_load(&made.module, kernel.image.c_str()), kernel.name,
              "cuModuleLoadData");
  const Result found = cuda_.module_function(&made.function, made.module, kernel.name.c_str());
  if (found != kSuccess) (void)cuda_.module_unload(made.module);
  check_image(cuda_, found, kernel.name, "cuModuleGetFunction");
  return made;
}

// A kernel runs in streams of the context that it was loaded in.
KernelInContext CudaKernels::copy_for(CudaKernel& loaded, StreamHandle stream) {
  if (!is_foreign(stream) || !contexts_.are_own()) return loaded.ours;
  const std::scoped_lock lock(loaded.mutex);
  if (loaded.programs.module == nullptr)
    loaded.programs = load(loaded.kernel, contexts_.of(gpus_.ordinal(loaded.gpu)));
  return loaded.programs;
}

void CudaKernels::unload(KernelHandle kernel) const {
  if (kernel.value == 0)
    fail(ErrorCode::invalid_argument, "kernel 0 does not exist", "it is no handle",
         "Pass a handle that load_kernel returned.");
  const RelaxedCapture relaxed;
  const std::unique_ptr<CudaKernel> loaded(reinterpret_cast<CudaKernel*>(kernel.value));
  for (const KernelInContext& copy : {loaded->programs, loaded->ours}) {
    if (copy.module == nullptr) continue;
    const Current current(copy.context);
    check(cuda_.module_unload(copy.module), "cuModuleUnload");
  }
}

CudaKernel& CudaKernels::kernel_of(const KernelRequest& request) {
  if (request.kernel.value == 0)
    fail(ErrorCode::invalid_argument, "kernel 0 does not exist", "it is no handle",
         "Pass a handle that load_kernel returned.");
  auto& loaded = *reinterpret_cast<CudaKernel*>(request.kernel.value);
  if (loaded.gpu != request.gpu)
    fail(ErrorCode::invalid_argument, "a kernel cannot run there", "it was loaded for another GPU",
         "Load it for that GPU as well.");
  check_parameters(request, loaded.parameters);
  return loaded;
}

// Memory of other processes, of pools and of virtual addresses is mapped for some GPUs only, and
// that of another context than the primary one not for us; registered memory may be known to one
// context only.
bool CudaKernels::reach(PlaceId gpu, Address address) {
  MemoryAccess access;
  const auto memory = memory_.find(address, &access);
  if (!memory || imports_.find(address)) return false;
  if (memory->kind == MemoryKind::device)
    return access.shareable && access.context == contexts_.of(gpus_.ordinal(memory->place)) &&
           (memory->place == gpu ||
            peers_.reaches(gpus_.ordinal(gpu), gpus_.ordinal(memory->place)));
  if (memory->kind != MemoryKind::pinned) return false;
  const Current current(contexts_.ours(gpus_.ordinal(gpu)));
  DevicePointer reached = 0;
  const Result result =
      cuda_.host_device_pointer(&reached, reinterpret_cast<void*>(address.value), 0);
  return result == kSuccess && reached == address.value;
}

// GPUs reach each other's memory in contexts that are connected.
void CudaKernels::connect_memory(const KernelRequest& request) {
  const int own = gpus_.ordinal(request.gpu);
  PlaceId last = request.gpu;
  for (const KernelMemory& memory : request.memory) {
    if (memory.place == last || !gpus_.is_gpu(memory.place)) continue;
    const int other = gpus_.ordinal(memory.place);
    peers_.require(own, other);
    peers_.reach(own, other);
    last = memory.place;
  }
}

void CudaKernels::run(const KernelRequest& request, StreamHandle stream) {
  CudaKernel& loaded = kernel_of(request);
  connect_memory(request);
  const KernelInContext copy = copy_for(loaded, stream);
  const KernelRun made(loaded, copy.function, request);
  const KernelParameters& run = made.parameters();
  const Current current(copy.context);
  check(cuda_.launch_kernel(run.function, run.blocks[0], run.blocks[1], run.blocks[2],
                            run.threads_per_block[0], run.threads_per_block[1],
                            run.threads_per_block[2], run.shared_bytes, pointer_of(stream),
                            run.parameters, run.extra),
        "cuLaunchKernel");
}

OwnKernel::~OwnKernel() {
  if (!contexts_.usable()) return;
  for (const auto& [gpu, kernel] : loaded_)
    if (kernel.value != 0) ignore_errors([&, loaded = kernel] { kernels_.unload(loaded); });
}

KernelHandle OwnKernel::of(PlaceId gpu) {
  const std::scoped_lock lock(mutex_);
  KernelHandle& kernel = loaded_[gpu];
  if (kernel.value == 0) kernel = kernels_.load(gpu, maker_());
  return kernel;
}

}  // namespace polypath::cuda
