/* The measured operations. One exchange is the work that every rank does once: a window of
   messages, or there and back. The definitions are those of the OSU micro-benchmarks. */
#ifndef POLYPATH_MPI_BENCH_OPERATION_H
#define POLYPATH_MPI_BENCH_OPERATION_H

#include <mpi.h>
#include <stdbool.h>

#include "region.h"

enum { NO_RANK = -1 };

/* One rank's side of one operation at one size and window. */
typedef struct {
  MPI_Comm ranks;              /* those that take part */
  int rank, size;              /* in it */
  int sends_to, receives_from; /* ranks in it, or NO_RANK */
  int bytes, window;
  Region out, in;
  MPI_Request* requests;         /* room for two windows */
  MPI_Win memory;                /* of one-sided operations: the whole region `in` of every rank */
  struct Jacobi* solver;         /* of the operation that is one; it has no regions */
  struct Collective* collective; /* likewise */
} Exchange;

/* Whose time counts. */
typedef enum { TIME_OF_FIRST_RANK, MEAN_OF_SENDERS, MEAN_OF_RANKS, TIME_OF_SLOWEST_RANK } Clock;

typedef enum {
  MESSAGES,
  SOLVER,     /* has a grid instead of regions, and its values are checked (jacobi.h) */
  COLLECTIVE, /* a call of all ranks with buffers of its own kind (collective.h) */
} Kind;

typedef struct {
  const char* name;
  const char* meaning; /* one line */
  bool all_ranks;      /* else the first two */
  bool even_ranks;     /* they work in pairs */
  bool windowed;       /* else the window is one message */
  Kind kind;
  bool own_buffers; /* each message of a window has one in any case: MPI leaves open what becomes
                       of two puts into the same bytes */
  int messages_in_turn; /* that one exchange sends one after another; its time is divided by them */
  Clock clock;
  int (*sends_to)(int rank, int size); /* or NO_RANK; collectives have none */
  void (*begin)(Exchange* exchange);   /* before the first exchange; may be NULL */
  void (*once)(Exchange* exchange);
  void (*make_visible)(Exchange* exchange); /* arrived bytes, to the receiver; may be NULL */
  void (*end)(Exchange* exchange);          /* after the last one; may be NULL */
} Operation;

extern const Operation operations[];
extern const int operation_count;

/* How many buffers a window of messages lies in. */
int buffer_count(const Operation* operation, int window, bool buffer_per_message);

/* NULL where there is none of this name. */
const Operation* find_operation(const char* name);

/* The rank that sends to `rank`, or NO_RANK. */
int sender_to(const Operation* operation, int rank, int size);

/* How many ranks send. */
int sender_count(const Operation* operation, int size);

/* There and back, one message at a time: rank 0 starts. */
void ping_pong(Exchange* exchange);

/* The sender's window of messages, then the receiver's acknowledgement. */
void window_one_way(Exchange* exchange);

/* A window to one rank and one from another (or the same) at once. */
void window_both_ways(Exchange* exchange);

/* One-sided: the window is put into the target's memory and complete there at the end. */
void open_put(Exchange* exchange);
void put_and_flush(Exchange* exchange);
void see_put(Exchange* exchange);
void close_put(Exchange* exchange);

void open_put_fence(Exchange* exchange);
void put_and_fence(Exchange* exchange);
void close_put_fence(Exchange* exchange);

/* An iteration of a solver: a kernel, and halos to both neighbours. */
void iterate_jacobi(Exchange* exchange);

#endif
