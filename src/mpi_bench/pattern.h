/* The bytes of messages.

   A message is the sequence of 64-bit words w_i = mix(seed + i * golden), where mix is a bijection
   with good avalanche. Seeds differ per exchange, sending rank and message, so a byte that comes
   from another message, another offset or an earlier exchange is wrong in 255 of 256 cases. The
   destination is poisoned with the complement of what it must receive: a byte that never arrives
   is wrong in every case. */
#ifndef POLYPATH_MPI_BENCH_PATTERN_H
#define POLYPATH_MPI_BENCH_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* The seed of one message: `exchange` numbers all checked exchanges of a run. */
uint64_t message_seed(uint64_t exchange, int sender, int message);

/* Writes the bytes [offset, offset + bytes) of the message; offset is a multiple of 8. */
void write_pattern(uint64_t seed, size_t offset, void* to, size_t bytes);

/* The same with every bit flipped. */
void write_complement(uint64_t seed, size_t offset, void* to, size_t bytes);

/* How many of these bytes differ from the message's; *first is the offset in the message of the
   first one that does, untouched if none. */
size_t count_wrong(uint64_t seed, size_t offset, const void* bytes, size_t count, size_t* first);

#endif
