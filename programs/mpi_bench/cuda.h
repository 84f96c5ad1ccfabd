/* The CUDA driver, opened at run time: no CUDA toolkit is needed to compile, and none to run on
   host memory. */
#ifndef POLYPATH_MPI_BENCH_CUDA_H
#define POLYPATH_MPI_BENCH_CUDA_H

#include <stddef.h>

typedef int CudaResult; /* CUresult; 0 is success */
typedef int CudaDevice;
typedef void* CudaContext;
typedef void *CudaModule, *CudaFunction, *CudaStream;
typedef unsigned long long CudaAddress; /* CUdeviceptr */

/* Every function that is used: our name, the exported symbol, the parameters. */
#define CUDA_FUNCTIONS(F)                                                                         \
  F(init, "cuInit", (unsigned flags))                                                             \
  F(device_count, "cuDeviceGetCount", (int* count))                                               \
  F(device, "cuDeviceGet", (CudaDevice * device, int ordinal))                                    \
  F(device_name, "cuDeviceGetName", (char* name, int length, CudaDevice device))                  \
  F(driver_version, "cuDriverGetVersion", (int* version))                                         \
  F(retain_context, "cuDevicePrimaryCtxRetain", (CudaContext * context, CudaDevice device))       \
  F(set_context, "cuCtxSetCurrent", (CudaContext context))                                        \
  F(synchronize, "cuCtxSynchronize", (void))                                                      \
  F(allocate, "cuMemAlloc_v2", (CudaAddress * address, size_t bytes))                             \
  F(allocate_managed, "cuMemAllocManaged", (CudaAddress * address, size_t bytes, unsigned flags)) \
  F(release, "cuMemFree_v2", (CudaAddress address))                                               \
  F(allocate_pinned, "cuMemHostAlloc", (void** address, size_t bytes, unsigned flags))            \
  F(release_pinned, "cuMemFreeHost", (void* address))                                             \
  F(copy_in, "cuMemcpyHtoD_v2", (CudaAddress to, const void* from, size_t bytes))                 \
  F(copy_out, "cuMemcpyDtoH_v2", (void* to, CudaAddress from, size_t bytes))                      \
  F(load_module, "cuModuleLoadData", (CudaModule * module, const void* image))                    \
  F(unload_module, "cuModuleUnload", (CudaModule module))                                         \
  F(module_function, "cuModuleGetFunction",                                                       \
    (CudaFunction * function, CudaModule module, const char* name))                               \
  F(launch, "cuLaunchKernel",                                                                     \
    (CudaFunction function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,              \
     unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared_bytes,           \
     CudaStream stream, void** parameters, void** extra))                                         \
  F(create_stream, "cuStreamCreate", (CudaStream * stream, unsigned flags))                       \
  F(synchronize_stream, "cuStreamSynchronize", (CudaStream stream))                               \
  F(destroy_stream, "cuStreamDestroy_v2", (CudaStream stream))                                    \
  F(error_name, "cuGetErrorName", (CudaResult result, const char** name))

typedef struct {
#define CUDA_MEMBER(name, symbol, parameters) CudaResult(*name) parameters;
  CUDA_FUNCTIONS(CUDA_MEMBER)
#undef CUDA_MEMBER
} Cuda;

/* Opens libcuda.so.1 once and initialises it; fails with a message where there is none. */
const Cuda* open_cuda(void);

/* Fails with the name of the error unless the result is success; `what` names the call. */
void require_cuda(const Cuda* cuda, CudaResult result, const char* what);

#endif
