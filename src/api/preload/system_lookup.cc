#include <dlfcn.h>

#include <atomic>

#include "api/preload/real_driver.h"

namespace polypath::preload {

// The version of dlsym is that of the C library which brought it: 2.34 moved it from libdl.
Lookup system_lookup() {
  static std::atomic<Lookup> system{nullptr};
  Lookup lookup = system.load(std::memory_order_acquire);
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"}) {
    if (lookup != nullptr) break;
    lookup = reinterpret_cast<Lookup>(dlvsym(RTLD_NEXT, "dlsym", version));
  }
  system.store(lookup, std::memory_order_release);
  return lookup;
}

}  // namespace polypath::preload
