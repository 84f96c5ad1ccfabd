/* Collective calls of all ranks, each with the parts of its buffers. A part is as long as the size
   that is asked for; in a reduction it is of float32.

                   out of a rank          into a rank
     allreduce     a part                 the sum of all parts
     reduce        a part                 the same, at the root
     reduce_scatter  a part               its share of the sum, as equal as elements allow
     allgather     a part                 a part from each rank
     alltoall      a part for each rank   a part from each rank
     bcast         a part, at the root    that part, at all others
     gather        a part                 a part from each rank, at the root
     scatter       a part for each rank, at the root   a part

   The root is rank 0. */
#ifndef POLYPATH_MPI_BENCH_COLLECTIVE_H
#define POLYPATH_MPI_BENCH_COLLECTIVE_H

#include <mpi.h>
#include <stdbool.h>

#include "check.h"
#include "memory.h"

enum {
  ELEMENT_BYTES = 4,
  GAP_BYTES = 64 /* behind the memory received into: nothing may be written there */
};

typedef struct Collective Collective;

typedef struct {
  const char* name;
  bool reduces;      /* else parts arrive as they are */
  bool scattered;    /* a rank receives its share of one part */
  bool out_per_rank; /* out has a part for each rank, else one */
  bool in_per_rank;
  bool from_root; /* only the root's out counts */
  bool to_root;   /* only the root receives */
  void (*call)(const Collective* collective, void* out, void* in);
} CollectiveKind;

struct Collective {
  const CollectiveKind* kind;
  MPI_Comm ranks;
  int rank, size;
  size_t part; /* bytes */
  int* counts; /* of each rank's share, in elements */
  const Memory *sent_from, *received_into;
  unsigned char *out, *in;
  unsigned char *host_out, *host_in; /* pinned copies; NULL: MPI gets the memory itself */
};

/* NULL where there is none of this name. */
const CollectiveKind* find_collective(const char* name);

/* Bytes that the buffers of a rank take at most. */
size_t out_bytes(const CollectiveKind* kind, size_t part, int size);
size_t in_bytes(const CollectiveKind* kind, size_t part, int size);

/* Bytes that this rank sends from its buffer, and that it receives into the other; may be 0. */
size_t sent_bytes(const Collective* collective);
size_t received_bytes(const Collective* collective);

/* The first element of this rank's share. */
size_t first_of_share(const Collective* collective);

/* The call of the exchange's collective. With host copies: into pinned memory, MPI's call there,
   and back, as a program does whose MPI takes no memory of GPUs. */
void call_collective(Exchange* exchange);

/* Before calls and after them, as begin_check and end_check. */
void begin_collective_check(const Exchange* exchange);
Checked end_collective_check(const Exchange* exchange);

#endif
