#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "collective.h"
#include "failure.h"
#include "pattern.h"

enum {
  POISON = 0xA5,    /* bytes behind the memory into which is received */
  NO_NUMBER = 0xFF, /* bytes of a float32 that is no sum */
  VALUES = 1009,    /* so few that each sum of ranks is a whole number of float32 */
};

/* Counts the checks of this process; all ranks make the same ones. */
static uint64_t latest = 0;

/* Of rank's part, a whole number: the sum over ranks is exact in any order. */
static float value_of(int rank, size_t element) {
  return (float)((131 * element + 71 * (size_t)rank + 17 * (size_t)latest +
                  element % 13 * (size_t)rank) %
                 VALUES);
}

static void write_values(const Collective* c, size_t first, void* to, size_t bytes) {
  float* const values = to;
  for (size_t i = 0; i < bytes / ELEMENT_BYTES; ++i) values[i] = value_of(c->rank, first + i);
}

static void write_sums(const Collective* c, size_t first, void* to, size_t bytes) {
  float* const sums = to;
  for (size_t i = 0; i < bytes / ELEMENT_BYTES; ++i) {
    sums[i] = 0;
    for (int rank = 0; rank < c->size; ++rank) sums[i] += value_of(rank, first + i);
  }
}

/* A piece of a buffer: so many bytes from this offset on, within one part. */
typedef struct {
  size_t offset, bytes;
  int part;
  size_t in_part;
} Piece;

static Piece piece_at(const Collective* c, size_t offset, size_t end) {
  Piece piece = {offset, end - offset, (int)(offset / c->part), offset % c->part};
  const size_t rest = c->part - piece.in_part;
  if (piece.bytes > rest) piece.bytes = rest;
  if (piece.bytes > STAGING_BYTES) piece.bytes = STAGING_BYTES;
  return piece;
}

static uint64_t seed_out(const Collective* c, int part) {
  return message_seed(latest, c->rank, c->kind->out_per_rank ? part : 0);
}

static uint64_t seed_in(const Collective* c, int part) {
  const int sender = c->kind->in_per_rank ? part : 0; /* else the root */
  return message_seed(latest, sender, c->kind->out_per_rank ? c->rank : 0);
}

static void fill_out(const Collective* c) {
  const size_t end = sent_bytes(c);
  unsigned char* const staging = c->sent_from->staging;
  for (size_t at = 0; at < end;) {
    const Piece piece = piece_at(c, at, end);
    if (c->kind->reduces) write_values(c, piece.in_part / ELEMENT_BYTES, staging, piece.bytes);
    else write_pattern(seed_out(c, piece.part), piece.in_part, staging, piece.bytes);
    copy_in(c->sent_from, c->out + at, staging, piece.bytes);
    at += piece.bytes;
  }
  finish_copies(c->sent_from);
}

static void poison_in(const Collective* c) {
  const size_t end = received_bytes(c);
  unsigned char* const staging = c->received_into->staging;
  for (size_t at = 0; at < end;) {
    const Piece piece = piece_at(c, at, end);
    if (c->kind->reduces) memset(staging, NO_NUMBER, piece.bytes);
    else write_complement(seed_in(c, piece.part), piece.in_part, staging, piece.bytes);
    copy_in(c->received_into, c->in + at, staging, piece.bytes);
    at += piece.bytes;
  }
  memset(staging, POISON, GAP_BYTES);
  copy_in(c->received_into, c->in + end, staging, GAP_BYTES);
  finish_copies(c->received_into);
}

void begin_collective_check(const Exchange* exchange) {
  ++latest;
  fill_out(exchange->collective);
  poison_in(exchange->collective);
  MPI_Barrier(exchange->ranks);
}

static size_t wrong_sums(const Collective* c, const Piece* piece, const unsigned char* given,
                         size_t* first) {
  static float sums[STAGING_BYTES / ELEMENT_BYTES];
  size_t wrong = 0;
  write_sums(c, first_of_share(c) + piece->in_part / ELEMENT_BYTES, sums, piece->bytes);
  for (size_t i = 0; i < piece->bytes; i += ELEMENT_BYTES) {
    if (memcmp(given + i, (const unsigned char*)sums + i, ELEMENT_BYTES) == 0) continue;
    if (wrong == 0) *first = piece->in_part + i;
    wrong += ELEMENT_BYTES;
  }
  return wrong;
}

/* Wrong bytes of the memory received into; *first is the offset of the first one. */
static size_t wrong_in(const Collective* c, size_t end, size_t* first) {
  unsigned char* const staging = c->received_into->staging;
  size_t wrong = 0;
  for (size_t at = 0; at < end;) {
    const Piece piece = piece_at(c, at, end);
    size_t here = 0, count;
    copy_out(c->received_into, staging, c->in + at, piece.bytes);
    count = c->kind->reduces
                ? wrong_sums(c, &piece, staging, &here)
                : count_wrong(seed_in(c, piece.part), piece.in_part, staging, piece.bytes, &here);
    if (wrong == 0 && count > 0) *first = (size_t)piece.part * c->part + here;
    wrong += count;
    at += piece.bytes;
  }
  return wrong;
}

static size_t wrong_behind(const Collective* c, size_t end) {
  unsigned char* const staging = c->received_into->staging;
  size_t wrong = 0;
  copy_out(c->received_into, staging, c->in + end, GAP_BYTES);
  for (int i = 0; i < GAP_BYTES; ++i) wrong += staging[i] != POISON;
  return wrong;
}

Checked end_collective_check(const Exchange* exchange) {
  const Collective* const c = exchange->collective;
  const size_t end = received_bytes(c);
  size_t first = end;
  const size_t inside = wrong_in(c, end, &first), behind = wrong_behind(c, end);
  if (inside + behind > 0) {
    fprintf(stderr,
            PROGRAM_NAME
            ": rank %d: %s of %zu bytes: %zu wrong bytes, the first at offset %zu, and %zu behind "
            "them\n",
            c->rank, c->kind->name, c->part, inside, first, behind);
    fflush(stderr);
  }
  return checked_by_all(exchange, end, inside + behind);
}
