// dlsym as the program finds it when libpolypath_preload.so comes before the C library: a program
// that opens libcuda at run time, as the CUDA runtime does, gets its functions from here.
//
// For RTLD_NEXT and RTLD_DEFAULT it matters to the system's dlsym who calls it. So it is not called
// but jumped to: the return address stays the program's.

#include <dlfcn.h>

#include "api/preload/mpi_layer.h"
#include "api/preload/nccl_layer.h"
#include "api/preload/real_driver.h"
#include "api/preload/symbol_lookup.h"

#if defined(__clang__)
#define POLYPATH_JUMP [[clang::musttail]] return
#define POLYPATH_JUMPS
#else
#define POLYPATH_JUMP return
#define POLYPATH_JUMPS __attribute__((optimize("O2", "optimize-sibling-calls")))
#endif

namespace polypath::preload {
namespace {

void* driver_symbol(void* library, const char* name) {
  return replacement_for_symbol(name, system_lookup()(library, name));
}

// The driver's, also where ours comes first.
void* real_driver_symbol(void* library, const char* name) {
  void* const found = real_symbol(name);
  return found != nullptr ? found : system_lookup()(library, name);
}

void* mpi_symbol(void* library, const char* name) {
  return mpi_replacement(library, name, system_lookup()(library, name));
}

void* any_mpi_symbol(void* library, const char* name) {
  return mpi_of_any_library(name, system_lookup()(library, name));
}

void* nccl_symbol(void* library, const char* name) {
  return nccl_replacement(library, name, system_lookup()(library, name));
}

// A caller that asks for the next one, or for any, names no library, and finds ours by the usual
// rules.
Lookup lookup_for(void* library, const char* name, const void* caller) {
  const bool named = library != RTLD_NEXT && library != RTLD_DEFAULT;
  if (named && is_of_nccl(name)) return &nccl_symbol;
  if (named && is_of_mpi(name)) return &mpi_symbol;
  if (library == RTLD_DEFAULT && is_of_mpi(name)) return &any_mpi_symbol;
  if (!may_be_replaced(name)) return system_lookup();
  if (is_patched(name) && patches_functions(caller)) return &real_driver_symbol;
  return named ? &driver_symbol : system_lookup();
}

}  // namespace
}  // namespace polypath::preload

extern "C" {

__attribute__((visibility("default"))) POLYPATH_JUMPS void* dlsym(void* library,
                                                                  const char* name) noexcept {
  const auto lookup = reinterpret_cast<void* (*)(void*, const char*) noexcept>(
      polypath::preload::lookup_for(library, name, __builtin_return_address(0)));
  POLYPATH_JUMP lookup(library, name);
}

/// The system's dlsym, for Polypath's own use of the driver in this process.
__attribute__((visibility("default"))) void* polypath_real_dlsym(void* library, const char* name) {
  return polypath::preload::system_lookup()(library, name);
}
}
