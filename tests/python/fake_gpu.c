/* A CUDA driver of one GPU whose memory is the host's, for the MPI program of `polypath mpi`. A
   kernel starts late: when its stream is waited for, so that who does not wait sends old rows. It
   refuses images that do not begin with "image", and launches that the kernel was not compiled for.
   FAULT=kernel gives it a rounding of its own. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long Address;
typedef struct {
  uint64_t width, rows;
  float* to;
  const float* from;
} Parameters;

enum { SUCCESS = 0, INVALID_VALUE = 1, INVALID_IMAGE = 200, THREADS = 256, WORD = 16 };

static Parameters queued;
static int is_queued, streams;

int cuInit(unsigned flags) { return (int)flags; }
int cuDeviceGetCount(int* count) { return *count = 1, SUCCESS; }
int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, SUCCESS; }
int cuDeviceGetName(char* name, int length, int device) {
  return snprintf(name, (size_t)length, "Fake GPU %d", device), SUCCESS;
}
int cuDriverGetVersion(int* version) { return *version = 13000, SUCCESS; }
int cuDevicePrimaryCtxRetain(void** context, int device) {
  (void)device;
  return *context = &queued, SUCCESS;
}
int cuCtxSetCurrent(void* context) { return context == &queued ? SUCCESS : INVALID_VALUE; }
int cuCtxSynchronize(void) { return SUCCESS; }
int cuMemHostAlloc(void** address, size_t bytes, unsigned flags) {
  (void)flags;
  return posix_memalign(address, 4096, bytes);
}
int cuMemFreeHost(void* address) { return free(address), SUCCESS; }
int cuMemAlloc_v2(Address* address, size_t bytes) {
  void* memory = NULL;
  if (posix_memalign(&memory, 4096, bytes) != 0) return INVALID_VALUE;
  return *address = (uintptr_t)memory, SUCCESS;
}
int cuMemAllocManaged(Address* address, size_t bytes, unsigned flags) {
  (void)flags;
  return cuMemAlloc_v2(address, bytes);
}
int cuMemFree_v2(Address address) { return free((void*)(uintptr_t)address), SUCCESS; }
int cuMemcpyHtoD_v2(Address to, const void* from, size_t bytes) {
  return memcpy((void*)(uintptr_t)to, from, bytes), SUCCESS;
}
int cuMemcpyDtoH_v2(void* to, Address from, size_t bytes) {
  return memcpy(to, (const void*)(uintptr_t)from, bytes), SUCCESS;
}
int cuGetErrorName(int result, const char** name) {
  return *name = result == INVALID_IMAGE ? "CUDA_ERROR_INVALID_IMAGE" : "an error", SUCCESS;
}

int cuModuleLoadData(void** module, const void* image) {
  *module = &is_queued;
  return strncmp(image, "image", 5) == 0 ? SUCCESS : INVALID_IMAGE;
}
int cuModuleUnload(void* module) { return module == &is_queued ? SUCCESS : INVALID_VALUE; }
int cuModuleGetFunction(void** function, void* module, const char* name) {
  *function = &queued;
  return module == &is_queued && strcmp(name, "jacobi") == 0 ? SUCCESS : INVALID_VALUE;
}
int cuStreamCreate(void** stream, unsigned flags) {
  (void)flags;
  ++streams;
  return *stream = &streams, SUCCESS;
}
int cuStreamDestroy_v2(void* stream) { return --streams, (void)stream, SUCCESS; }

int cuLaunchKernel(void* function, unsigned blocks, unsigned y, unsigned z, unsigned threads,
                   unsigned threads_y, unsigned threads_z, unsigned shared, void* stream,
                   void** parameters, void** extra) {
  const int flat = y == 1 && z == 1 && threads_y == 1 && threads_z == 1 && blocks > 0;
  memcpy(&queued, parameters[0], sizeof queued);
  is_queued = 1;
  if (function != &queued || stream != &streams || shared != 0 || extra != NULL || !flat)
    return INVALID_VALUE;
  if (threads != THREADS || queued.width % (WORD / sizeof(float)) != 0) return INVALID_VALUE;
  return (uintptr_t)queued.to % WORD == 0 && (uintptr_t)queued.from % WORD == 0 ? SUCCESS
                                                                                : INVALID_VALUE;
}

static void make_row(float* to, const float* here, uint64_t width) {
  const char* const fault = getenv("FAULT");
  const int wrong = fault != NULL && strcmp(fault, "kernel") == 0;
  for (uint64_t c = 1; c + 1 < width; ++c) {
    const float beside = here[c - 1] + here[c + 1];
    const float above = here[(int64_t)c - (int64_t)width], below = here[c + width];
    to[c] = 0.25F * (wrong ? beside + (above + below) : (beside + above) + below);
  }
  to[0] = here[0];
  to[width - 1] = here[width - 1];
}

int cuStreamSynchronize(void* stream) {
  for (uint64_t row = 0; is_queued && row < queued.rows; ++row)
    make_row(queued.to + row * queued.width, queued.from + (row + 1) * queued.width, queued.width);
  is_queued = 0;
  return stream == &streams ? SUCCESS : INVALID_VALUE;
}
