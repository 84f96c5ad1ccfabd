#include "api/preload/mpi_layer.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <string>
#include <string_view>

#include "api/preload/interposer.h"
#include "api/preload/program_gpus.h"
#include "api/preload/real_driver.h"
#include "core/log.h"
#include "core/process.h"

namespace polypath::preload {
namespace {

std::atomic<MpiEntries> mpi_entries{nullptr};
std::atomic<const mpi::Layer*> mpi_layer_of_process{nullptr};

// A library of the process that has MPI's functions, by its file.
struct MpiFile {
  std::string path;
  void* library = nullptr;  ///< null: there is none
};

bool may_be_mpi(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libmpi") || name.starts_with("libmpich");
}

std::string file_of(const void* function) {
  Dl_info found{};
  return dladdr(function, &found) != 0 && found.dli_fname != nullptr ? found.dli_fname : "";
}

// Opened by a module of Python, for example, which other libraries do not see.
MpiFile hidden_mpi() {
  MpiFile found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        auto& file = *static_cast<MpiFile*>(into);
        if (!may_be_mpi(info->dlpi_name)) return 0;
        void* const opened = dlopen(info->dlpi_name, RTLD_NOLOAD | RTLD_LAZY);
        if (opened == nullptr || system_lookup()(opened, "PMPI_Allreduce") == nullptr) return 0;
        file = {info->dlpi_name, opened};
        return 1;
      },
      &found);
  return found;
}

MpiFile mpi_file() {
  if (void* const linked = system_lookup()(RTLD_NEXT, "PMPI_Allreduce"))
    return {file_of(linked), RTLD_NEXT};
  return hidden_mpi();
}

// As if the program had asked the driver for the copy, which does not wait for those between GPUs.
bool copy_by_paths(const mpi::Surroundings& around, const NativeCopy& copy, PlaceId gpu) {
  Interposer& interposer = Interposer::get();
  if (interposer.passes_at_once(copy.bytes)) return false;
  if (around.driver.gpu_of_foreign(cuda::kStreamLegacy) != gpu) return false;
  const StreamHandle stream = around.default_stream(gpu);
  const auto native = [&] {
    around.driver.copy_native(copy, stream);
    return cuda::kSuccess;
  };
  const auto result = interposer.take({.destination = copy.destination,
                                       .source = copy.source,
                                       .bytes = copy.bytes,
                                       .blocking = true},
                                      RealCall(native));
  if (result != cuda::kSuccess) return false;
  around.driver.synchronize(stream);
  return true;
}

const mpi::Surroundings* make_surroundings(const Settings& settings, GpusOf which) {
  const OpenMachine& opened = gpus_of_ranks(settings, which);
  auto* const made = new mpi::Surroundings{ranks_machine(opened, opened.untraced_driver())};
  made->by_paths = [made](const NativeCopy& copy, PlaceId gpu) {
    return copy_by_paths(*made, copy, gpu);
  };
  return made;
}

// Never destroyed, as the machines.
const mpi::Surroundings& gpus_of_mpi(const Settings& settings, GpusOf which) {
  if (which == GpusOf::computer) {
    static const auto* const all = make_surroundings(settings, which);
    return *all;
  }
  static const auto* const own = make_surroundings(settings, which);
  return *own;
}

// Never destroyed: threads may call to the end.
mpi::Layer* make_mpi_layer(const mpi::Library& library) {
  try {
    const Settings settings = read_settings();
    set_log_level(settings.log_level);
    if (!settings.mpi) return nullptr;
    auto* const made = new mpi::Layer(
        library,
        [settings](GpusOf which) -> const mpi::Surroundings& {
          return gpus_of_mpi(settings, which);
        },
        &gpu_of_memory, mpi::NodeOfJob(settings.node, settings.mpi_nodes), settings.mpi_threads);
    mpi_layer_of_process = made;
    return made;
  } catch (const std::exception& error) {
    log(LogLevel::error, std::string("collective calls of MPI are left to it: ") + error.what());
    return nullptr;
  }
}

}  // namespace

// MPI's functions in this process, and the layer before them.
struct FoundMpi {
  mpi::Functions own;   ///< MPI's
  mpi::Functions next;  ///< of the next library that has them: another tool's, or MPI's
  mpi::Layer* layer = nullptr;
};

namespace {

FoundMpi find_mpi() {
  const MpiFile file = mpi_file();
  if (file.library == nullptr) return {};
  // Objects of Open MPI may lie in the program, which has copied them from the library.
  const auto find = [&](const char* name) {
    const bool is_object = std::string_view(name).starts_with("ompi_");
    void* const found = is_object ? system_lookup()(RTLD_DEFAULT, name) : nullptr;
    return found != nullptr ? found : system_lookup()(file.library, name);
  };
  const auto library = mpi::library_of(find, file.path);
  if (!library) return {};
  return {library->real, mpi::functions_named(find, "MPI_"), make_mpi_layer(*library)};
}

// Neither GPUs nor ranks are a forked child's.
const FoundMpi& found_mpi() {
  static const FoundMpi made = find_mpi();
  static const FoundMpi of_child{made.own, made.next, nullptr};
  static const int generation = process_generation();
  return process_generation() == generation ? made : of_child;
}

// Of our functions in each other. The library is there from the program's begin on.
__attribute__((tls_model("initial-exec"))) thread_local int depth = 0;

}  // namespace

MpiCall::MpiCall() : MpiCall(found_mpi(), depth == 0) {}

MpiCall::MpiCall(const FoundMpi& mpi, bool is_first)
    : real(is_first ? mpi.next : mpi.own), layer(is_first ? mpi.layer : nullptr) {
  ++depth;
}

MpiCall::~MpiCall() { --depth; }

bool has_driver() { return dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr; }

void set_mpi_entries(MpiEntries ours) { mpi_entries = ours; }

void* mpi_replacement(void* /*library*/, const char* name, void* real) {
  const MpiEntries ours = mpi_entries;
  void* const entry = ours == nullptr || real == nullptr ? nullptr : ours(name);
  if (entry == nullptr || entry == real) return real;
  return file_of(real) == mpi_file().path ? entry : real;
}

void* mpi_of_any_library(const char* name, void* found) {
  const MpiEntries ours = mpi_entries;
  if (ours == nullptr || found == nullptr || ours(name) != found) return found;
  const MpiFile file = mpi_file();
  const std::string profiling = (*name == 'P' ? "" : "P") + std::string(name);
  const bool has =
      file.library != nullptr && system_lookup()(file.library, profiling.c_str()) != nullptr;
  return has ? found : nullptr;
}

std::string mpi_lines(int process) {
  const mpi::Layer* const layer = mpi_layer_of_process;
  if (layer == nullptr) return {};
  return lines_of(layer->counts(), process) + layer->windows().counts().lines(process);
}

}  // namespace polypath::preload
