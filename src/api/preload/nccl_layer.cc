#include "api/preload/nccl_layer.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "api/preload/program_gpus.h"
#include "api/preload/real_driver.h"
#include "core/error.h"
#include "core/log.h"
#include "core/process.h"
#include "driver/cuda/cuda_api.h"
#include "driver/cuda/handles.h"

namespace polypath::preload {
namespace {

std::atomic<NcclEntries> entries{nullptr};
// Of the first function that was looked up there; null: the library that the program is linked
// with.
std::atomic<void*> library_of_process{nullptr};
std::atomic<const nccl::Layer*> layer_of_process{nullptr};

void* nccl_library() {
  if (void* const named = library_of_process.load()) return named;
  void* const linked = dlopen("libnccl.so.2", RTLD_NOLOAD | RTLD_LAZY);
  return linked != nullptr ? linked : RTLD_NEXT;
}

// Of the GPU that has the fewest, of those that this process sees.
unsigned least_multiprocessors() {
  const cuda::Functions& cuda = cuda::functions();
  int gpus = 0, least = 0;
  if (cuda.device_count(&gpus) != cuda::kSuccess) return 0;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    int all = 0;
    if (cuda.device_attribute(&all, cuda::kDeviceMultiprocessors, gpu) != cuda::kSuccess) return 0;
    least = gpu == 0 ? all : std::min(least, all);
  }
  return static_cast<unsigned>(std::max(least, 0));
}

// Never destroyed: at exit CUDA may be gone before us.
const nccl::Surroundings* open(const Settings& settings, GpusOf which) {
  const OpenMachine& opened = gpus_of_ranks(settings, which);
  Driver& driver = opened.untraced_driver();
  const auto handle_of = [&driver](PlaceId gpu, nccl::Stream stream) {
    return driver.foreign_stream(gpu, reinterpret_cast<std::uintptr_t>(stream));
  };
  const auto native = [](StreamHandle stream) -> nccl::Stream { return cuda::pointer_of(stream); };
  return new nccl::Surroundings{ranks_machine(opened, driver), handle_of, native, settings.learn,
                                least_multiprocessors()};
}

const nccl::Surroundings& surroundings(const Settings& settings, GpusOf which) {
  if (which == GpusOf::computer) {
    static const nccl::Surroundings* const all = open(settings, which);
    return *all;
  }
  static const nccl::Surroundings* const own = open(settings, which);
  return *own;
}

// Never destroyed: threads may call to the end.
nccl::Layer* make_layer(const nccl::Functions& real) {
  try {
    const Settings settings = read_settings();
    set_log_level(settings.log_level);
    if (!settings.nccl) return nullptr;
    auto* const made = new nccl::Layer(
        real,
        [settings](GpusOf which) -> const nccl::Surroundings& {
          return surroundings(settings, which);
        },
        nccl::Layer::Options{.most_measured = settings.nccl_measured,
                             .has_board = settings.nccl_nodes});
    layer_of_process = made;
    return made;
  } catch (const std::exception& error) {
    log(LogLevel::error, std::string("calls of NCCL are left to it: ") + error.what());
    return nullptr;
  }
}

NcclLayer make() {
  void* const library = nccl_library();
  const nccl::Functions real =
      nccl::functions_of([&](const char* name) { return system_lookup()(library, name); });
  return {real, make_layer(real)};
}

}  // namespace

// Neither GPUs nor threads are a forked child's.
const NcclLayer& nccl_layer() {
  static const NcclLayer made = make();
  static const NcclLayer of_child{made.real, nullptr};
  static const int generation = process_generation();
  return process_generation() == generation ? made : of_child;
}

const nccl::Layer* nccl_layer_if_any() { return layer_of_process; }

void set_nccl_entries(NcclEntries ours) { entries = ours; }

void* nccl_replacement(void* library, const char* name, void* real) {
  const NcclEntries ours = entries;
  void* const entry = ours == nullptr || real == nullptr ? nullptr : ours(name);
  if (entry == nullptr || entry == real) return real;
  void* none = nullptr;
  Dl_info of_real{}, of_first{};
  if (library_of_process.compare_exchange_strong(none, library)) return entry;
  void* const first = system_lookup()(none, name);
  const bool is_same =
      first == real || (dladdr(real, &of_real) != 0 && dladdr(first, &of_first) != 0 &&
                        of_real.dli_fbase == of_first.dli_fbase);
  return is_same ? entry : real;
}

}  // namespace polypath::preload
