/* collectives SEED CALLS MEMORY [MOST [WINDOW]]
   Makes random collective calls, the same at all ranks, in memory of GPUs, and compares every byte
   with what it comes to in memory of the host, which is MPI's. MEMORY: device; host; mixed (some
   ranks have memory of the host); sides (one of a call's memories is of the host). Counts are up to
   MOST. With a WINDOW the calls are non-blocking, up to so many under way, and messages go between
   them. Rank 0 prints "right N" with the number of calls; exit status 1 if a byte is wrong. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum operation {
  ALLREDUCE,
  REDUCE,
  REDUCE_SCATTER,
  REDUCE_SCATTER_BLOCK,
  SCAN,
  EXSCAN,
  BCAST,
  ALLGATHER,
  ALLGATHERV,
  GATHER,
  GATHERV,
  SCATTER,
  SCATTERV,
  ALLTOALL,
  ALLTOALLV,
  ALLTOALLW,
  OPERATIONS
};
static const char* const names[] = {
    "allreduce",  "reduce",   "reduce_scatter", "reduce_scatter_block",
    "scan",       "exscan",   "bcast",          "allgather",
    "allgatherv", "gather",   "gatherv",        "scatter",
    "scatterv",   "alltoall", "alltoallv",      "alltoallw"};
enum { MOST_RANKS = 16 };

struct call {
  enum operation operation;
  MPI_Comm comm, own; /* the same ranks, for what MPI does itself */
  int rank, size, root, in_place, large;
  int count;
  int counts[MOST_RANKS * MOST_RANKS]; /* from rank i to rank j, or of rank i */
  int gap;                             /* elements between the parts of v */
  MPI_Datatype type;
  MPI_Op op;
  size_t send_bytes, receive_bytes;
};

static uint64_t state;
static unsigned chance(unsigned below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33) % below;
}

static MPI_Comm comms[3], own_comms[3];
static MPI_Datatype strided;
static MPI_Op own_xor;

static void combine(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] ^= ((int*)in)[i];
}

/* 8 bytes of a type, of values that count up from one. */
static void fill_word(unsigned char* word, MPI_Datatype type, int value) {
  double real = value;
  long natural = value;
  float reals[2] = {(float)value, (float)(value + 1)};
  int naturals[2] = {value, value + 1};
  short shorts[4] = {(short)value, (short)(value + 1), (short)(value + 2), (short)(value + 3)};
  const void* from = naturals; /* of pairs and of the strided type, too */
  if (type == MPI_DOUBLE || type == MPI_C_DOUBLE_COMPLEX) from = &real;
  if (type == MPI_FLOAT || type == MPI_C_FLOAT_COMPLEX) from = reals;
  if (type == MPI_SHORT) from = shorts;
  if (type == MPI_LONG) from = &natural;
  memcpy(word, from, 8);
}

/* Small whole numbers, of which sums are exact in any order. */
static void fill(unsigned char* bytes, size_t size, MPI_Datatype type, unsigned seed) {
  for (size_t i = 0; i < size / 8; ++i)
    fill_word(bytes + 8 * i, type, (int)((i * 7 + seed) % 5) - 2);
}

static void choose_type(struct call* call) {
  static MPI_Datatype types[9];
  types[0] = MPI_FLOAT, types[1] = MPI_DOUBLE, types[2] = MPI_INT, types[3] = MPI_SHORT;
  types[4] = MPI_LONG, types[5] = MPI_C_FLOAT_COMPLEX, types[6] = MPI_C_DOUBLE_COMPLEX;
  types[7] = MPI_2INT, types[8] = strided;
  const int reduces = call->operation <= EXSCAN;
  call->type = types[chance(reduces ? 8 : 9)];
  const unsigned other = chance(8);
  call->op = MPI_SUM;
  if (other == 1 && call->type != MPI_C_FLOAT_COMPLEX && call->type != MPI_C_DOUBLE_COMPLEX)
    call->op = MPI_MAX;
  if (other == 2 && call->type == MPI_INT) call->op = MPI_BAND;
  if (other == 3 && call->type == MPI_INT) call->op = own_xor;
  if (call->type == MPI_2INT) call->op = other % 2 ? MPI_MINLOC : MPI_MAXLOC;
}

static int some_count(int most) {
  const unsigned kind = chance(10);
  if (kind == 0) return 0;
  if (kind < 6) return 1 + (int)chance(64);
  return 1 + (int)chance((unsigned)most);
}

static struct call choose(int most) {
  struct call call = {0};
  call.operation = (enum operation)chance(OPERATIONS);
  const unsigned which = chance(3);
  call.comm = comms[which];
  call.own = own_comms[which];
  MPI_Comm_rank(call.comm, &call.rank);
  MPI_Comm_size(call.comm, &call.size);
  const unsigned root = chance(1000), in_place = chance(3), gap = chance(2), large = chance(4);
  call.root = (int)(root % (unsigned)call.size);
  call.in_place = in_place == 0;
  call.gap = gap ? 3 : 0;
  call.large = large == 0;
  choose_type(&call);
  call.count = some_count(most);
  const unsigned equal = chance(3);
  /* As many numbers on every rank, whatever the size of its communicator is. */
  int many[MOST_RANKS * MOST_RANKS];
  for (int i = 0; i < MOST_RANKS * MOST_RANKS; ++i)
    many[i] = equal == 0 ? call.count : (int)chance((unsigned)most / 8 + 2);
  memcpy(call.counts, many, sizeof many);
  if (call.operation == ALLTOALLV || call.operation == ALLTOALLW)
    for (int i = 0; call.in_place && i < call.size; ++i)
      for (int j = 0; j < i; ++j) call.counts[i * call.size + j] = call.counts[j * call.size + i];
  return call;
}

struct arrays {
  int send_counts[MOST_RANKS], send_at[MOST_RANKS], receive_counts[MOST_RANKS],
      receive_at[MOST_RANKS];
  MPI_Datatype types[MOST_RANKS];
  int send_all, receive_all; /* elements that they reach over */
};

static void lay_out(const struct call* call, struct arrays* arrays) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(call->type, &lower, &extent);
  const int unit = call->operation == ALLTOALLW ? (int)extent : 1;
  int sent = 0, received = 0;
  const int matrix = call->operation == ALLTOALLV || call->operation == ALLTOALLW;
  for (int i = 0; i < call->size; ++i) {
    arrays->types[i] = call->type;
    arrays->send_counts[i] = call->counts[matrix ? call->rank * call->size + i : i];
    arrays->receive_counts[i] = call->counts[matrix ? i * call->size + call->rank : i];
    arrays->send_at[i] = sent * unit;
    arrays->receive_at[i] = received * unit;
    sent += arrays->send_counts[i] + call->gap;
    received += arrays->receive_counts[i] + call->gap;
  }
  arrays->send_all = sent;
  arrays->receive_all = received;
}

enum form { BLOCKING, NONBLOCKING };
#define CALL(name, iname, ...)                                  \
  do {                                                          \
    if (form == BLOCKING) MPI_##name(__VA_ARGS__);              \
    if (form == NONBLOCKING) MPI_##iname(__VA_ARGS__, request); \
  } while (0)

static void make_reduction(const struct call* c, MPI_Comm comm, void* send, void* receive,
                           enum form form, MPI_Request* request) {
  void* const in_place = c->in_place ? MPI_IN_PLACE : send;
  void* const root_in_place = c->in_place && c->rank == c->root ? MPI_IN_PLACE : send;
  switch (c->operation) {
    case ALLREDUCE:
      CALL(Allreduce, Iallreduce, in_place, receive, c->count, c->type, c->op, comm);
      break;
    case REDUCE:
      CALL(Reduce, Ireduce, root_in_place, receive, c->count, c->type, c->op, c->root, comm);
      break;
    case REDUCE_SCATTER:
      CALL(Reduce_scatter, Ireduce_scatter, in_place, receive, c->counts, c->type, c->op, comm);
      break;
    case REDUCE_SCATTER_BLOCK:
      CALL(Reduce_scatter_block, Ireduce_scatter_block, in_place, receive, c->count, c->type, c->op,
           comm);
      break;
    case SCAN: CALL(Scan, Iscan, in_place, receive, c->count, c->type, c->op, comm); break;
    case EXSCAN: CALL(Exscan, Iexscan, in_place, receive, c->count, c->type, c->op, comm); break;
    case BCAST: CALL(Bcast, Ibcast, receive, c->count, c->type, c->root, comm); break;
    default: break;
  }
}

static void make_rooted(const struct call* c, MPI_Comm comm, const struct arrays* a, void* send,
                        void* receive, enum form form, MPI_Request* request) {
  const int root = c->rank == c->root;
  void* const root_in_place = c->in_place && root ? MPI_IN_PLACE : send;
  switch (c->operation) {
    case GATHER:
      CALL(Gather, Igather, root_in_place, c->count, c->type, receive, c->count, c->type, c->root,
           comm);
      break;
    case GATHERV:
      CALL(Gatherv, Igatherv, root_in_place, a->send_counts[c->rank], c->type, receive,
           a->receive_counts, a->receive_at, c->type, c->root, comm);
      break;
    case SCATTER:
      CALL(Scatter, Iscatter, send, c->count, c->type, c->in_place && root ? MPI_IN_PLACE : receive,
           c->count, c->type, c->root, comm);
      break;
    case SCATTERV:
      CALL(Scatterv, Iscatterv, send, a->send_counts, a->send_at, c->type,
           c->in_place && root ? MPI_IN_PLACE : receive, a->receive_counts[c->rank], c->type,
           c->root, comm);
      break;
    default: break;
  }
}

static void make_to_all(const struct call* c, MPI_Comm comm, const struct arrays* a, void* send,
                        void* receive, enum form form, MPI_Request* request) {
  void* const in_place = c->in_place ? MPI_IN_PLACE : send;
  switch (c->operation) {
    case ALLGATHER:
      CALL(Allgather, Iallgather, in_place, c->count, c->type, receive, c->count, c->type, comm);
      break;
    case ALLGATHERV:
      CALL(Allgatherv, Iallgatherv, in_place, a->send_counts[c->rank], c->type, receive,
           a->receive_counts, a->receive_at, c->type, comm);
      break;
    case ALLTOALL:
      CALL(Alltoall, Ialltoall, in_place, c->count, c->type, receive, c->count, c->type, comm);
      break;
    case ALLTOALLV:
      CALL(Alltoallv, Ialltoallv, in_place, a->send_counts, a->send_at, c->type, receive,
           a->receive_counts, a->receive_at, c->type, comm);
      break;
    case ALLTOALLW:
      CALL(Alltoallw, Ialltoallw, in_place, a->send_counts, a->send_at, a->types, receive,
           a->receive_counts, a->receive_at, a->types, comm);
      break;
    default: break;
  }
}

/* Each makes its own operations only. */
static void make(const struct call* c, MPI_Comm comm, const struct arrays* a, void* send,
                 void* receive, enum form form, MPI_Request* request) {
  make_reduction(c, comm, send, receive, form, request);
  make_rooted(c, comm, a, send, receive, form, request);
  make_to_all(c, comm, a, send, receive, form, request);
}

static size_t bytes_needed(const struct call* call, const struct arrays* arrays) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(call->type, &lower, &extent);
  int most = call->count * call->size, all = 0;
  for (int i = 0; i < call->size; ++i) all += call->counts[i];
  if (all > most) most = all;
  if (arrays->send_all > most) most = arrays->send_all;
  if (arrays->receive_all > most) most = arrays->receive_all;
  return ((size_t)most * (size_t)extent + 64 + 7) / 8 * 8;
}

static enum kind kind_of(const char* memory, int rank, int side, unsigned draw) {
  if (strcmp(memory, "host") == 0) return HOST;
  if (strcmp(memory, "mixed") == 0) return (draw >> rank) % 2 ? HOST : DEVICE;
  if (strcmp(memory, "sides") == 0) return (draw + (unsigned)side) % 2 ? HOST : DEVICE;
  if (strcmp(memory, "managed") == 0) return MANAGED;
  return DEVICE;
}

/* A call under way, with what it is to come to. */
struct flight {
  struct call call;
  struct arrays arrays;
  size_t size;
  unsigned char *send, *expected, *found;
  struct buffer given, taken;
  int number;
};

static void prepare(struct flight* flight, const struct call* call, const char* memory,
                    int world_rank) {
  memset(flight, 0, sizeof *flight);
  flight->call = *call;
  lay_out(call, &flight->arrays);
  const size_t size = flight->size = bytes_needed(call, &flight->arrays);
  const unsigned draw = chance(1u << 16);
  flight->send = malloc(3 * size);
  flight->expected = flight->send + size;
  flight->found = flight->send + 2 * size;
  fill(flight->send, size, call->type, (unsigned)world_rank + draw);
  fill(flight->expected, size, call->type, 3u * (unsigned)world_rank + draw + 1);
  flight->given = allocate(kind_of(memory, world_rank, 0, draw), size);
  flight->taken = allocate(kind_of(memory, world_rank, 1, draw), size);
  write_bytes(flight->given, 0, flight->send, size);
  write_bytes(flight->taken, 0, flight->expected, size);
  make(call, call->own, &flight->arrays, flight->send, flight->expected, BLOCKING, NULL);
}

static int is_right(struct flight* flight) {
  read_bytes(flight->taken, 0, flight->found, flight->size);
  int right = memcmp(flight->found, flight->expected, flight->size) == 0;
  read_bytes(flight->given, 0, flight->found, flight->size);
  right = right && memcmp(flight->found, flight->send, flight->size) == 0;
  if (!right)
    printf("rank %d of %d: %s is wrong (call %d, %d elements, root %d%s)\n", flight->call.rank,
           flight->call.size, names[flight->call.operation], flight->number, flight->call.count,
           flight->call.root, flight->call.in_place ? ", in place" : "");
  return right;
}

static void put_away(struct flight* flight) {
  release(&flight->given);
  release(&flight->taken);
  free(flight->send);
}

enum { MOST_FLIGHTS = 8 };
static struct flight* flights[MOST_FLIGHTS];
static MPI_Request requests[MOST_FLIGHTS];
static int under_way;

/* Takes the results of those that are over; each rank waits in a way of its own. */
static int land(unsigned way) {
  int many = 0, which[MOST_FLIGHTS], done = 0, right = 1;
  switch (way % 6) {
    case 0:
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      which[many++] = 0;
      break;
    case 1:
      while (!done) MPI_Test(&requests[under_way - 1], &done, MPI_STATUS_IGNORE);
      which[many++] = under_way - 1;
      break;
    case 2: MPI_Waitany(under_way, requests, &which[many++], MPI_STATUS_IGNORE); break;
    case 3: MPI_Waitsome(under_way, requests, &many, which, MPI_STATUSES_IGNORE); break;
    case 4:
      while (!done) MPI_Testall(under_way, requests, &done, MPI_STATUSES_IGNORE);
      for (; many < under_way; ++many) which[many] = many;
      break;
    default:
      MPI_Waitall(under_way, requests, MPI_STATUSES_IGNORE);
      for (; many < under_way; ++many) which[many] = many;
  }
  for (int i = 0; i < many; ++i) {
    right &= is_right(flights[which[i]]);
    flights[which[i]] = NULL;
  }
  int kept = 0;
  for (int i = 0; i < under_way; ++i)
    if (flights[i] != NULL) {
      flights[kept] = flights[i];
      requests[kept++] = requests[i];
    }
  under_way = kept;
  return right;
}

/* A neighbour waits for a message, and only then makes the call. */
static void message(int rank, int sends) {
  int size, word = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank % 2 == 0 && rank + 1 < size && sends)
    MPI_Send(&rank, 1, MPI_INT, rank + 1, 7, MPI_COMM_WORLD);
  if (rank % 2 == 1 && !sends)
    MPI_Recv(&word, 1, MPI_INT, rank - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Calls that are begun together: what they come to is worked out before, because that blocks. */
static int do_nonblocking(const char* memory, int rank, int window, int most, int number) {
  /* Memory is freed when nothing is under way: cuMemFree waits for the GPU, and so for other ranks.
   */
  struct flight all[MOST_FLIGHTS];
  unsigned messages[MOST_FLIGHTS];
  int right = 1;
  const unsigned way = chance(1000);
  for (int i = 0; i < window; ++i) {
    const struct call call = choose(most);
    flights[i] = &all[i];
    prepare(flights[i], &call, memory, rank);
    flights[i]->number = number + i;
    messages[i] = chance(3);
  }
  for (under_way = 0; under_way < window; ++under_way) {
    struct flight* const flight = flights[under_way];
    if (messages[under_way] == 0) message(rank, 0);
    make(&flight->call, flight->call.comm, &flight->arrays, flight->given.address,
         flight->taken.address, NONBLOCKING, &requests[under_way]);
    if (messages[under_way] == 0) message(rank, 1);
  }
  for (unsigned turn = 0; under_way > 0; ++turn) right &= land(way + turn + (unsigned)rank);
  for (int i = 0; i < window; ++i) put_away(&all[i]);
  return right;
}

static int do_blocking(const struct call* call, const char* memory, int rank, int number) {
  struct flight flight;
  prepare(&flight, call, memory, rank);
  flight.number = number;
  make(call, call->comm, &flight.arrays, flight.given.address, flight.taken.address, BLOCKING,
       NULL);
  const int right = is_right(&flight);
  put_away(&flight);
  return right;
}

static void make_comms(int rank) {
  comms[0] = MPI_COMM_WORLD;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[2]);
  for (int i = 0; i < 3; ++i) MPI_Comm_dup(comms[i], &own_comms[i]);
  MPI_Type_vector(2, 1, 2, MPI_INT, &strided);
  MPI_Type_commit(&strided);
  MPI_Op_create(combine, 1, &own_xor);
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  int rank, right = 1, calls = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (count < 4) return 2;
  const int wanted = atoi(arguments[2]), most = count > 4 ? atoi(arguments[4]) : 3000;
  const int window = count > 5 ? atoi(arguments[5]) : 1; /* MOST_FLIGHTS at most */
  state = strtoull(arguments[1], NULL, 10) * 977 + 5;
  open_driver(rank);
  make_comms(rank);
  while (calls < wanted) {
    if (window > 1) {
      right &= do_nonblocking(arguments[3], rank, window, most, calls);
      calls += window;
    } else {
      const struct call call = choose(most);
      right &= do_blocking(&call, arguments[3], rank, calls++);
    }
  }
  int all_right = 0;
  MPI_Allreduce(&right, &all_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0 && all_right) printf("right %d\n", calls);
  MPI_Comm_free(&comms[1]);
  MPI_Comm_free(&comms[2]);
  MPI_Finalize();
  return all_right ? 0 : 1;
}
