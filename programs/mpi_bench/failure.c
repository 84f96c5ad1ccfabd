#include "failure.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void fail(const char* format, ...) {
  char message[1024];
  int rank = 0;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  fprintf(stderr, PROGRAM_NAME ": rank %d: %s\n", rank, message);
  fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, STATUS_FAILED);
  abort(); /* MPI_Abort does not return, but nothing says so to the compiler */
}

void refuse(const char* format, ...) {
  int rank = 0;
  va_list arguments;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    va_start(arguments, format);
    fprintf(stderr, PROGRAM_NAME ": ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    fflush(stderr);
    va_end(arguments);
  }
  MPI_Finalize();
  exit(STATUS_BAD_REQUEST);
}

void* allocate_host(unsigned long count, unsigned long bytes_each) {
  void* memory = calloc(count ? count : 1, bytes_each);
  if (memory == NULL)
    fail("%lu x %lu bytes of host memory cannot be had (the system has no more) Ask for less.",
         count, bytes_each);
  return memory;
}
