#include "region.h"

#include <string.h>

#include "pattern.h"

enum {
  ALIGNMENT = 4096,
  LEAST_GAP = 64,
  POISON = 0x5A,
};

static size_t stride_of(size_t bytes) {
  return (bytes + LEAST_GAP + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

size_t region_bytes(size_t bytes, int buffers) {
  return ALIGNMENT + (size_t)buffers * stride_of(bytes);
}

Region region_at(const Memory* memory, void* base, size_t bytes, int buffers) {
  const Region region = {memory, base, bytes, stride_of(bytes), buffers};
  return region;
}

static size_t buffer_offset(const Region* region, int buffer) {
  return ALIGNMENT + (size_t)buffer * region->stride;
}

size_t message_offset(const Region* region, int message) {
  return buffer_offset(region, message % region->buffers);
}

void* message_address(const Region* region, int message) {
  return region->base + message_offset(region, message);
}

void* acknowledgement(const Region* region) { return region->base; }

static size_t piece_from(size_t offset, size_t bytes) {
  return bytes - offset < STAGING_BYTES ? bytes - offset : STAGING_BYTES;
}

typedef void (*Writer)(uint64_t seed, size_t offset, void* to, size_t bytes);

static void write_buffers(const Region* region, uint64_t exchange, int sender, Writer writer) {
  unsigned char* const piece = region->memory->staging;
  for (int buffer = 0; buffer < region->buffers; ++buffer) {
    const uint64_t seed = message_seed(exchange, sender, buffer);
    unsigned char* const target = region->base + buffer_offset(region, buffer);
    for (size_t offset = 0; offset < region->bytes; offset += STAGING_BYTES) {
      const size_t bytes = piece_from(offset, region->bytes);
      writer(seed, offset, piece, bytes);
      copy_in(region->memory, target + offset, piece, bytes);
    }
  }
}

/* The gap before buffer `gap`, counted from the first; the last one is behind the last buffer.
   What is before the first buffer starts with the acknowledgement, which is not part of it. */
static size_t gap_start(const Region* region, int gap) {
  if (gap == 0) return LEAST_GAP;
  return buffer_offset(region, gap - 1) + region->bytes;
}

static size_t gap_bytes(const Region* region, int gap) {
  return buffer_offset(region, gap) - gap_start(region, gap);
}

static void poison_gaps(const Region* region) {
  unsigned char* const piece = region->memory->staging;
  memset(piece, POISON, ALIGNMENT + LEAST_GAP);
  for (int gap = 0; gap <= region->buffers; ++gap)
    copy_in(region->memory, region->base + gap_start(region, gap), piece, gap_bytes(region, gap));
}

void fill_region(const Region* region, uint64_t exchange, int sender) {
  write_buffers(region, exchange, sender, write_pattern);
  finish_copies(region->memory);
}

void poison_region(const Region* region, uint64_t exchange, int sender) {
  write_buffers(region, exchange, sender, write_complement);
  poison_gaps(region);
  finish_copies(region->memory);
}

static void note(Verdict* verdict, size_t wrong, int buffer, size_t offset) {
  if (verdict->wrong == 0 && wrong > 0) {
    verdict->buffer = buffer;
    verdict->offset = offset;
  }
  verdict->wrong += wrong;
}

static void compare_buffer(const Region* region, int buffer, uint64_t seed, Verdict* verdict) {
  unsigned char* const piece = region->memory->staging;
  const unsigned char* const source = region->base + buffer_offset(region, buffer);
  for (size_t offset = 0; offset < region->bytes; offset += STAGING_BYTES) {
    const size_t bytes = piece_from(offset, region->bytes);
    size_t first = 0;
    size_t wrong;
    write_complement(seed, offset, piece, bytes); /* in case that the copy does not write it */
    copy_out(region->memory, piece, source + offset, bytes);
    wrong = count_wrong(seed, offset, piece, bytes, &first);
    note(verdict, wrong, buffer, first);
    verdict->compared += bytes;
  }
}

static void compare_gap(const Region* region, int gap, Verdict* verdict) {
  unsigned char* const piece = region->memory->staging;
  const size_t bytes = gap_bytes(region, gap);
  memset(piece, (unsigned char)~POISON, bytes);
  copy_out(region->memory, piece, region->base + gap_start(region, gap), bytes);
  for (size_t i = 0; i < bytes; ++i)
    note(verdict, piece[i] != POISON, gap - 1, gap == 0 ? i : region->bytes + i);
}

Verdict compare_region(const Region* region, uint64_t exchange, int sender) {
  Verdict verdict = {.buffer = -1};
  compare_gap(region, 0, &verdict);
  for (int buffer = 0; buffer < region->buffers; ++buffer) {
    compare_buffer(region, buffer, message_seed(exchange, sender, buffer), &verdict);
    compare_gap(region, buffer + 1, &verdict);
  }
  return verdict;
}
