#include "mpi/ucx.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string_view>

namespace polypath::mpi {

bool ucx_takes_gpu_memory() {
  void* const module = ::dlopen("libuct_cuda.so.0", RTLD_NOLOAD | RTLD_LAZY);
  if (module == nullptr) return false;
  ::dlclose(module);
  return true;
}

bool windows_go_by_ucx() {
  const char* const chosen = std::getenv("OMPI_MCA_osc");
  return chosen != nullptr && std::string_view(chosen) == "ucx" && ucx_takes_gpu_memory();
}

}  // namespace polypath::mpi
