/* The command line. */
#ifndef POLYPATH_MPI_BENCH_OPTIONS_H
#define POLYPATH_MPI_BENCH_OPTIONS_H

#include <stdbool.h>

#include "measure.h"
#include "memory.h"
#include "operation.h"

enum { MOST_VALUES = 256, MOST_WINDOW = 1024, MOST_ROWS = 1024 };

typedef struct {
  const Operation* operations[MOST_VALUES];
  int operation_count;
  int sizes[MOST_VALUES]; /* bytes */
  int size_count;
  int windows[MOST_VALUES];
  int window_count;
  MemoryKind sent_from, received_into;
  bool buffer_per_message; /* else one for all messages of a window */
  bool check;
  bool staged;       /* collectives of GPU memory by copies in pinned memory, if MPI takes none */
  int rows;          /* of each rank of jacobi */
  const char* image; /* the file of jacobi's kernel; NULL: the host computes */
  Effort effort;
} Options;

/* Reads the command line. Refuses, in all ranks, a request that cannot be carried out by so many
   ranks; prints the help and ends all ranks where that is asked for. */
Options read_options(int count, char** arguments, int ranks);

/* The largest of the sizes, and of the windows, that are asked for. */
int largest_size(const Options* options);
int largest_window(const Options* options);

#endif
