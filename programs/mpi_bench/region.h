/* The memory of one rank's messages. Either all messages of a window share one buffer, as in the
   OSU micro-benchmarks, or each has one of its own, so that each can be checked, and copies in
   flight never write the same bytes.

     | acknowledgement, gap | buffer 0 | gap | buffer 1 | gap | ...

   Buffers start at multiples of 4096 bytes. Gaps are at least 64 bytes; nothing may write there. */
#ifndef POLYPATH_MPI_BENCH_REGION_H
#define POLYPATH_MPI_BENCH_REGION_H

#include <stdint.h>

#include "memory.h"

enum { ACKNOWLEDGEMENT_BYTES = 4 };

typedef struct {
  const Memory* memory;
  unsigned char* base;
  size_t bytes;  /* of one message */
  size_t stride; /* from one buffer to the next */
  int buffers;
} Region;

/* Bytes of memory that a region of so many buffers of so many bytes takes. */
size_t region_bytes(size_t bytes, int buffers);

/* A region at this address, which has region_bytes(bytes, buffers) bytes. */
Region region_at(const Memory* memory, void* base, size_t bytes, int buffers);

/* Message i of a window lies in buffer i, or in the one that there is. */
void* message_address(const Region* region, int message);

/* From the region's start. */
size_t message_offset(const Region* region, int message);

/* Where bytes may go that say "received". */
void* acknowledgement(const Region* region);

/* Writes every buffer as `sender` sends it in this exchange (pattern.h). */
void fill_region(const Region* region, uint64_t exchange, int sender);

/* Writes every buffer's complement, and poison into the gaps. */
void poison_region(const Region* region, uint64_t exchange, int sender);

typedef struct {
  size_t compared; /* bytes of buffers */
  size_t wrong;    /* of those, and of the gaps */
  int buffer;      /* the first with a wrong byte, or before the gap with one; -1: none, or before
                      the first buffer */
  size_t offset;   /* of the first wrong byte in it; its length or more: in the gap behind it */
} Verdict;

/* Compares every buffer with what `sender` sends in this exchange, and the gaps with the poison. */
Verdict compare_region(const Region* region, uint64_t exchange, int sender);

#endif
