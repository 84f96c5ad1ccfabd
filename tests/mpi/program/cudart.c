/* The part of the CUDA runtime that ucx_perftest uses, over the driver's interface, to be
   preloaded: the real runtime refuses a driver that lacks its private tables. Finds its functions
   as that one does, through cuGetProcAddress. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long long device_pointer;

enum { RUNTIME_VERSION = 13000, MOST_GPUS = 64 };

static void* function(const char* name) {
  typedef int (*lookup)(const char*, void**, int, uint64_t, int*);
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  lookup look_up = library == NULL ? NULL : (lookup)dlsym(library, "cuGetProcAddress_v2");
  void* found = NULL;
  if (look_up != NULL && look_up(name, &found, RUNTIME_VERSION, 0, NULL) == 0) return found;
  fprintf(stderr, "the CUDA driver has no %s\n", name);
  abort();
}

/* CALL(name, (parameter types), arguments...) */
#define CALL(name, types, ...) (((int(*) types)function(name))(__VA_ARGS__))

static __thread int current = -1;

/* The thread's device, the first one where it named none, has its primary context made current. */
static int use(int device) {
  static void* contexts[MOST_GPUS];
  int result = CALL("cuInit", (unsigned), 0);
  if (result == 0 && contexts[device] == NULL)
    result = CALL("cuDevicePrimaryCtxRetain", (void**, int), &contexts[device], device);
  if (result == 0) result = CALL("cuCtxSetCurrent", (void*), contexts[device]);
  if (result == 0) current = device;
  return result;
}

static int ready(void) { return current >= 0 ? 0 : use(0); }

int cudaGetDeviceCount(int* count) {
  const int result = CALL("cuInit", (unsigned), 0);
  return result != 0 ? result : CALL("cuDeviceGetCount", (int*), count);
}

int cudaSetDevice(int device) { return device < MOST_GPUS ? use(device) : 101; }

int cudaMalloc(void** where, size_t size) {
  const int result = ready();
  return result != 0 ? result
                     : CALL("cuMemAlloc", (device_pointer*, size_t), (device_pointer*)where, size);
}

int cudaMallocManaged(void** where, size_t size, unsigned flags) {
  const int result = ready();
  return result != 0 ? result
                     : CALL("cuMemAllocManaged", (device_pointer*, size_t, unsigned),
                            (device_pointer*)where, size, flags);
}

int cudaHostAlloc(void** where, size_t size, unsigned flags) {
  const int result = ready();
  return result != 0 ? result
                     : CALL("cuMemHostAlloc", (void**, size_t, unsigned), where, size, flags);
}

int cudaHostGetDevicePointer(void** where, void* pointer, unsigned flags) {
  return CALL("cuMemHostGetDevicePointer", (device_pointer*, void*, unsigned),
              (device_pointer*)where, pointer, flags);
}

int cudaFree(void* pointer) {
  return CALL("cuMemFree", (device_pointer), (device_pointer)(size_t)pointer);
}

int cudaFreeHost(void* pointer) { return CALL("cuMemFreeHost", (void*), pointer); }

int cudaMemcpy(void* to, const void* from, size_t size, int kind) {
  const int result = ready();
  (void)kind;
  return result != 0 ? result
                     : CALL("cuMemcpy", (device_pointer, device_pointer, size_t),
                            (device_pointer)(size_t)to, (device_pointer)(size_t)from, size);
}

int cudaMemset(void* to, int value, size_t size) {
  const int result = ready();
  return result != 0 ? result
                     : CALL("cuMemsetD8", (device_pointer, unsigned char, size_t),
                            (device_pointer)(size_t)to, (unsigned char)value, size);
}

int cudaDeviceSynchronize(void) {
  const int result = ready();
  return result != 0 ? result : CALL("cuCtxSynchronize", (void));
}

int cudaGetLastError(void) { return 0; }

const char* cudaGetErrorString(int result) {
  const char* text = "unknown error";
  CALL("cuGetErrorString", (int, const char**), result, &text);
  return text;
}
