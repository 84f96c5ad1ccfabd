/* Failures as one line on stderr: *problem (why it is one) what to do*. */
#ifndef POLYPATH_MPI_BENCH_FAILURE_H
#define POLYPATH_MPI_BENCH_FAILURE_H

#define PROGRAM_NAME "polypath_mpi_bench"

enum {
  STATUS_DONE = 0,
  STATUS_FAILED = 1,      /* carrying it out failed, or bytes were wrong */
  STATUS_BAD_REQUEST = 2, /* it cannot be carried out as written */
};

/* Prints the message with this rank's number and ends all ranks with the status STATUS_FAILED. */
_Noreturn void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

/* Ends all ranks with the status STATUS_BAD_REQUEST. Every rank reads the same command line, so
   every rank must call it; only the first one prints. */
_Noreturn void refuse(const char* format, ...) __attribute__((format(printf, 1, 2)));

/* malloc that fails with a message instead of returning a null pointer. */
void* allocate_host(unsigned long count, unsigned long bytes_each);

#endif
