/* The memory of one rank's messages: each message of a window has a place of its own, so that each
   can be checked, and copies in flight never write the same bytes.

     | acknowledgement, gap | message 0 | gap | message 1 | gap | ...

   Messages start at multiples of 4096 bytes. Gaps are at least 64 bytes; nothing may write there.
 */
#ifndef POLYPATH_MPI_BENCH_REGION_H
#define POLYPATH_MPI_BENCH_REGION_H

#include <stdint.h>

#include "memory.h"

enum { ACKNOWLEDGEMENT_BYTES = 4 };

typedef struct {
  const Memory* memory;
  unsigned char* base;
  size_t bytes;  /* of one message */
  size_t stride; /* from one message to the next */
  int messages;
} Region;

/* Bytes of memory that a region of so many messages of so many bytes takes. */
size_t region_bytes(size_t bytes, int messages);

/* A region at this address, which has region_bytes(bytes, messages) bytes. */
Region region_at(const Memory* memory, void* base, size_t bytes, int messages);

void* message_address(const Region* region, int message);

/* From the region's start. */
size_t message_offset(const Region* region, int message);

/* Where bytes may go that say "received". */
void* acknowledgement(const Region* region);

/* Writes every message as `sender` sends it in this exchange (pattern.h). */
void fill_region(const Region* region, uint64_t exchange, int sender);

/* Writes every message's complement, and poison into the gaps. */
void poison_region(const Region* region, uint64_t exchange, int sender);

typedef struct {
  size_t compared; /* bytes of messages */
  size_t wrong;    /* of those, and of the gaps */
  int message;     /* the first with a wrong byte, or before the gap with one; -1: none, or before
                      the first message */
  size_t offset;   /* of the first wrong byte in it; its length or more: in the gap behind it */
} Verdict;

/* Compares every message with what `sender` sends in this exchange, and the gaps with the poison.
 */
Verdict compare_region(const Region* region, uint64_t exchange, int sender);

#endif
