#include "memory.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long device_pointer;

static void* library;

static void* function(const char* name) {
  void* found = dlsym(library, name);
  if (found != NULL) return found;
  fprintf(stderr, "the CUDA driver has no %s\n", name);
  exit(2);
}

static void check(int result, const char* call) {
  if (result == 0) return;
  fprintf(stderr, "%s failed (error %d)\n", call, result);
  exit(2);
}

/* CALL(name, (parameter types), arguments...) */
#define CALL(name, types, ...) check(((int(*) types)function(name))(__VA_ARGS__), name)

void open_driver(int gpu) {
  void* context = NULL;
  library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  CALL("cuInit", (unsigned), 0);
  CALL("cuDevicePrimaryCtxRetain", (void**, int), &context, gpu % count_gpus());
  CALL("cuCtxSetCurrent", (void*), context);
}

int count_gpus(void) {
  int count = 0;
  CALL("cuDeviceGetCount", (int*), &count);
  return count;
}

struct buffer allocate(enum kind kind, size_t size) {
  struct buffer made = {kind, NULL, size};
  device_pointer pointer = 0;
  if (kind == DEVICE) CALL("cuMemAlloc_v2", (device_pointer*, size_t), &pointer, size);
  if (kind == MANAGED)
    CALL("cuMemAllocManaged", (device_pointer*, size_t, unsigned), &pointer, size, 1);
  made.address = kind == HOST ? malloc(size) : (unsigned char*)(size_t)pointer;
  return made;
}

void release(struct buffer* buffer) {
  if (buffer->kind == HOST) free(buffer->address);
  else CALL("cuMemFree_v2", (device_pointer), (device_pointer)(size_t)buffer->address);
  buffer->address = NULL;
}

void write_bytes(struct buffer buffer, size_t offset, const unsigned char* bytes, size_t size) {
  unsigned char* to = buffer.address + offset;
  if (buffer.kind != DEVICE) memcpy(to, bytes, size);
  else
    CALL("cuMemcpyHtoD_v2", (device_pointer, const void*, size_t), (device_pointer)(size_t)to,
         bytes, size);
}

void read_bytes(struct buffer buffer, size_t offset, unsigned char* bytes, size_t size) {
  unsigned char* from = buffer.address + offset;
  if (buffer.kind != DEVICE) memcpy(bytes, from, size);
  else
    CALL("cuMemcpyDtoH_v2", (void*, device_pointer, size_t), bytes, (device_pointer)(size_t)from,
         size);
}
