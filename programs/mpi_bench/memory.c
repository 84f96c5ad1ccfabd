#define _POSIX_C_SOURCE 200809L
#include "memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"
#include "failure.h"

enum { PAGE = 4096, ATTACH_GLOBAL = 1 /* CU_MEM_ATTACH_GLOBAL */ };

const char* memory_name(MemoryKind kind) {
  static const char* const names[] = {"host", "pinned", "device", "managed"};
  return names[kind];
}

bool needs_gpu(MemoryKind kind) { return kind != MEMORY_HOST; }

/* Whether the CPU copies to it and from it. */
static bool is_host_memory(MemoryKind kind) { return kind == MEMORY_HOST || kind == MEMORY_PINNED; }

static void take_gpu(Memory* memory, int rank_on_node) {
  const Cuda* const cuda = open_cuda();
  CudaDevice device;
  CudaContext context;
  require_cuda(cuda, cuda->device_count(&memory->gpus), "cuDeviceGetCount");
  if (memory->gpus == 0)
    fail("no GPU is visible (CUDA_VISIBLE_DEVICES may hide them) Show one, or use --buffers host.");
  memory->gpu = rank_on_node % memory->gpus;
  require_cuda(cuda, cuda->device(&device, memory->gpu), "cuDeviceGet");
  require_cuda(cuda, cuda->device_name(memory->name, sizeof memory->name, device),
               "cuDeviceGetName");
  require_cuda(cuda, cuda->driver_version(&memory->driver), "cuDriverGetVersion");
  require_cuda(cuda, cuda->retain_context(&context, device), "cuDevicePrimaryCtxRetain");
  require_cuda(cuda, cuda->set_context(context), "cuCtxSetCurrent");
}

static void* allocate_pinned(size_t bytes) {
  const Cuda* const cuda = open_cuda();
  void* address = NULL;
  require_cuda(cuda, cuda->allocate_pinned(&address, bytes, 0), "cuMemHostAlloc");
  return address;
}

static void release_pinned(void* address) {
  require_cuda(open_cuda(), open_cuda()->release_pinned(address), "cuMemFreeHost");
}

Memory open_memory(MemoryKind kind, int rank_on_node) {
  Memory memory = {.kind = kind, .gpu = -1};
  if (needs_gpu(kind)) take_gpu(&memory, rank_on_node);
  memory.staging =
      needs_gpu(kind) ? allocate_pinned(STAGING_BYTES) : allocate_host(1, STAGING_BYTES);
  return memory;
}

void close_memory(Memory* memory) {
  if (needs_gpu(memory->kind)) release_pinned(memory->staging);
  else free(memory->staging);
  memory->staging = NULL;
}

static void* allocate_on_gpu(MemoryKind kind, size_t bytes) {
  const Cuda* const cuda = open_cuda();
  CudaAddress address = 0;
  const CudaResult result = kind == MEMORY_DEVICE
                                ? cuda->allocate(&address, bytes)
                                : cuda->allocate_managed(&address, bytes, ATTACH_GLOBAL);
  if (result != 0)
    fail(
        "%zu bytes of %s memory cannot be had (CUDA error %d; 2 is too little memory) Ask for "
        "smaller sizes or windows.",
        bytes, memory_name(kind), result);
  return (void*)(uintptr_t)address;
}

void* allocate(const Memory* memory, size_t bytes) {
  void* address = NULL;
  if (memory->kind == MEMORY_PINNED) return allocate_pinned(bytes);
  if (memory->kind != MEMORY_HOST) return allocate_on_gpu(memory->kind, bytes);
  if (posix_memalign(&address, PAGE, bytes) != 0)
    fail(
        "%zu bytes of host memory cannot be had (the system has no more) Ask for smaller sizes "
        "or windows.",
        bytes);
  return address;
}

void release(const Memory* memory, void* address) {
  const Cuda* cuda;
  if (memory->kind == MEMORY_HOST) {
    free(address);
    return;
  }
  if (memory->kind == MEMORY_PINNED) {
    release_pinned(address);
    return;
  }
  cuda = open_cuda();
  require_cuda(cuda, cuda->release((CudaAddress)(uintptr_t)address), "cuMemFree");
}

void copy_in(const Memory* memory, void* to, const void* from, size_t bytes) {
  const Cuda* cuda;
  if (is_host_memory(memory->kind)) {
    memcpy(to, from, bytes);
    return;
  }
  cuda = open_cuda();
  require_cuda(cuda, cuda->copy_in((CudaAddress)(uintptr_t)to, from, bytes), "cuMemcpyHtoD");
}

void finish_copies(const Memory* memory) {
  const Cuda* cuda;
  if (is_host_memory(memory->kind)) return;
  cuda = open_cuda();
  require_cuda(cuda, cuda->synchronize(), "cuCtxSynchronize");
}

void copy_out(const Memory* memory, void* to, const void* from, size_t bytes) {
  const Cuda* cuda;
  if (is_host_memory(memory->kind)) {
    memcpy(to, from, bytes);
    return;
  }
  cuda = open_cuda();
  require_cuda(cuda, cuda->copy_out(to, (CudaAddress)(uintptr_t)from, bytes), "cuMemcpyDtoH");
}

typedef void (*Copy)(const Memory* memory, void* to, const void* from, size_t bytes);

static void in_pieces(const Memory* memory, void* to, const void* from, size_t bytes, Copy copy) {
  for (size_t done = 0; done < bytes; done += STAGING_BYTES) {
    const size_t rest = bytes - done;
    copy(memory, (char*)to + done, (const char*)from + done,
         rest < STAGING_BYTES ? rest : STAGING_BYTES);
  }
}

void copy_all_in(const Memory* memory, void* to, const void* from, size_t bytes) {
  in_pieces(memory, to, from, bytes, copy_in);
}

void copy_all_out(const Memory* memory, void* to, const void* from, size_t bytes) {
  in_pieces(memory, to, from, bytes, copy_out);
}
