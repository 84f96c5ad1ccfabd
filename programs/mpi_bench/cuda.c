#include "cuda.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "failure.h"

/* POSIX has dlsym return functions as object pointers, which ISO C cannot convert. */
static void resolve(void* library, const char* symbol, void* function, size_t bytes) {
  void* const address = dlsym(library, symbol);
  if (address == NULL)
    fail("libcuda.so.1 has no %s (it is older than CUDA 11) Install a newer driver.", symbol);
  memcpy(function, &address, bytes);
}

static void load(Cuda* cuda) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    fail(
        "there is no memory of GPUs here (%s) Run it where the NVIDIA driver is, or with "
        "--buffers host.",
        dlerror());
#define CUDA_RESOLVE(name, symbol, parameters) \
  resolve(library, symbol, &cuda->name, sizeof cuda->name);
  CUDA_FUNCTIONS(CUDA_RESOLVE)
#undef CUDA_RESOLVE
}

const Cuda* open_cuda(void) {
  static Cuda cuda;
  static bool opened = false;
  if (!opened) {
    load(&cuda);
    require_cuda(&cuda, cuda.init(0), "cuInit");
    opened = true;
  }
  return &cuda;
}

void require_cuda(const Cuda* cuda, CudaResult result, const char* what) {
  const char* name = NULL;
  if (result == 0) return;
  if (cuda->error_name(result, &name) != 0 || name == NULL) name = "an unknown error";
  fail("%s failed (%s, CUDA error %d) 'nvidia-smi' shows the GPUs and their state.", what, name,
       result);
}
