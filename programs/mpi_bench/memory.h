/* Where messages lie: pageable or pinned host memory, or memory of this rank's GPU. */
#ifndef POLYPATH_MPI_BENCH_MEMORY_H
#define POLYPATH_MPI_BENCH_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

typedef enum { MEMORY_HOST, MEMORY_PINNED, MEMORY_DEVICE, MEMORY_MANAGED } MemoryKind;

enum { MEMORY_KINDS = MEMORY_MANAGED + 1 };

/* "host" (pageable, as malloc gives it), "pinned", "device" or "managed". */
const char* memory_name(MemoryKind kind);

/* Whether there must be a GPU for it. */
bool needs_gpu(MemoryKind kind);

typedef struct {
  MemoryKind kind;
  int gpu;                /* as CUDA counts the visible ones; -1 without one */
  int gpus;               /* visible to this rank */
  char name[128];         /* the GPU's model; empty without one */
  int driver;             /* the CUDA version the driver is for, 1000 * major + 10 * minor; or 0 */
  unsigned char* staging; /* STAGING_BYTES of host memory, pinned if there is a GPU */
} Memory;

/* Bytes go to and from GPUs in pieces of this size: too small to be worth several paths, so that
   the check does not rely on what it checks. */
enum { STAGING_BYTES = 512 * 1024 };

/* Makes this rank's memory ready: its GPU is the rank's number on its node modulo the visible
   GPUs, and that GPU's primary context is current from now on. */
Memory open_memory(MemoryKind kind, int rank_on_node);

/* Gives the staging memory back; the context stays, since MPI may still use it. */
void close_memory(Memory* memory);

/* Memory of this kind, aligned to 512 bytes at least; fails where there is none left. */
void* allocate(const Memory* memory, size_t bytes);

void release(const Memory* memory, void* address);

/* Copies from host memory, which may be used again on return. Other processes find the bytes
   after finish_copies. */
void copy_in(const Memory* memory, void* to, const void* from, size_t bytes);

void finish_copies(const Memory* memory);

/* Copies into host memory. Bytes that MPI has delivered before are seen. */
void copy_out(const Memory* memory, void* to, const void* from, size_t bytes);

/* The same in pieces of at most STAGING_BYTES, of any length. */
void copy_all_in(const Memory* memory, void* to, const void* from, size_t bytes);
void copy_all_out(const Memory* memory, void* to, const void* from, size_t bytes);

#endif
