// The module that UCX opens from its plugin folder, before its own: sends the driver calls that
// UCX's CUDA module makes to the functions that libpolypath_preload.so exports.

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "api/preload/call_slots.h"
#include "api/preload/symbol_lookup.h"
#include "core/log.h"

namespace polypath::preload {
namespace {

// Where UCX's core library lies, and so its modules beside it.
int find_core(dl_phdr_info* info, std::size_t, void* data) {
  const std::string path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const std::size_t name = path.rfind("/libucs.so");
  if (name == std::string::npos) return 0;
  *static_cast<std::string*>(data) = path;
  return 1;
}

// As UCX itself looks for it: beside its core library, then where the environment says, then
// wherever the loader finds it.
void* open_cuda_module() {
  std::string core;
  dl_iterate_phdr(find_core, &core);
  const std::size_t name = core.rfind('/');
  const std::string ending = core.empty() ? ".so.0" : core.substr(name + std::strlen("/libucs"));
  const char* folder = std::getenv("UCX_MODULE_DIR");
  for (const std::string& place :
       {core.empty() ? std::string() : fmt::format("{}/ucx/", core.substr(0, name)),
        folder == nullptr ? std::string() : fmt::format("{}/", folder), std::string()})
    if (void* module =
            dlopen(fmt::format("{}libuct_cuda{}", place, ending).c_str(), RTLD_LAZY | RTLD_LOCAL))
      return module;
  return nullptr;
}

__attribute__((constructor)) void enter() noexcept {
  if (is_preloaded()) return;  // the calls come to us already
  try {
    void* module = open_cuda_module();
    const bool entered = module != nullptr && replace_call_slots(module, our_function) > 0;
    if (!entered) log(LogLevel::info, "UCX has no CUDA module here: its copies are left alone");
  } catch (const std::exception& error) {
    log(LogLevel::warning, error.what());
  }
}

}  // namespace
}  // namespace polypath::preload
