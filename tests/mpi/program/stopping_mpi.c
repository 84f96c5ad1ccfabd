/* To be preloaded behind Polypath: an MPI that prints how many votes it was asked for, which are
   reductions of one number, and that stops the rank of STOPPED_RANK at its first message on another
   communicator than that of all ranks, after STOPPED_AFTER of them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static int votes, messages;

static int number(const char* variable) {
  const char* const text = getenv(variable);
  return text == NULL ? -1 : atoi(text);
}

static void* real(const char* name) { return dlsym(RTLD_NEXT, name); }

int PMPI_Iallreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm, MPI_Request* request) {
  int (*const next)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*) =
      real("PMPI_Iallreduce");
  votes += count == 1;
  return next(send, receive, count, type, op, comm, request);
}

int PMPI_Isend(const void* memory, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
  int (*const next)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) =
      real("PMPI_Isend");
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (comm != MPI_COMM_WORLD && rank == number("STOPPED_RANK") &&
      messages++ == number("STOPPED_AFTER"))
    raise(SIGSTOP);
  return next(memory, count, type, to, tag, comm, request);
}

__attribute__((destructor)) static void print_votes(void) {
  if (votes > 0) fprintf(stderr, "tool: %d votes\n", votes);
}
