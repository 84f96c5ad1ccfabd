/* The bytes of messages.

   Word i of a message is T[i mod 8192] xor key(seed, i div 8192): a table of random words, and a
   random key per 64 KiB. So it takes a load and an xor, as fast as memory, and yet: seeds differ
   per exchange, sending rank and message, so a word that comes from another message, from another
   offset or from an earlier exchange is wrong. The destination is poisoned with the complement of
   what it must receive: a byte that never arrives is wrong in every case, not in 255 of 256. */
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
