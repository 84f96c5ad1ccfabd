#include "driver/trace/nvtx.h"

#include <dlfcn.h>

#include <initializer_list>

#include "core/log.h"

namespace polypath::trace {
namespace {

// The one of CUDA 12.9 and later, and the one before it.
constexpr std::initializer_list<const char*> kLibraries{"libnvtx3interop.so.1",
                                                        "libnvtx3interop.so", "libnvToolsExt.so.1"};

}  // namespace

const Nvtx* Nvtx::find() {
  static const Nvtx* const found = []() -> const Nvtx* {
    for (const char* name : kLibraries) {
      void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) continue;
      auto* nvtx = new Nvtx;
      nvtx->push_ = reinterpret_cast<int (*)(const char*)>(dlsym(library, "nvtxRangePushA"));
      nvtx->pop_ = reinterpret_cast<int (*)()>(dlsym(library, "nvtxRangePop"));
      if (nvtx->push_ != nullptr && nvtx->pop_ != nullptr) return nvtx;
      delete nvtx;
    }
    log(LogLevel::warning,
        "copies are not named for profilers (no library of NVTX was found) Install CUDA's, or "
        "unset POLYPATH_NVTX.");
    return nullptr;
  }();
  return found;
}

}  // namespace polypath::trace
