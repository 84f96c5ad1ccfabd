/* To be preloaded behind Polypath: an MPI that prints how many votes it was asked for, which are
   reductions of one number. At its first message on another communicator than that of all ranks,
   after STOPPED_AFTER of them, the rank of STOPPED_RANK stops itself, and those up to STOPPED_LAST
   before, by the signal STOPPED_BY or SIGSTOP. Ranks leave their processes' numbers in
   STOPPED_FOLDER. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int votes, messages;

static int number(const char* variable) {
  const char* const text = getenv(variable);
  return text == NULL ? -1 : atoi(text);
}

static FILE* open_process(int rank, const char* mode) {
  char path[4096];
  snprintf(path, sizeof path, "%s/process-%d", getenv("STOPPED_FOLDER"), rank);
  return fopen(path, mode);
}

static void leave_process(int rank) {
  FILE* const file = open_process(rank, "w");
  fprintf(file, "%d", getpid());
  fclose(file);
}

static void stop_ranks(void) {
  const int signal_sent = getenv("STOPPED_BY") == NULL ? SIGSTOP : number("STOPPED_BY");
  for (int rank = number("STOPPED_LAST"); rank >= number("STOPPED_RANK"); --rank) {
    FILE* const file = open_process(rank, "r");
    int process = 0;
    if (fscanf(file, "%d", &process) == 1) kill(process, signal_sent);
    fclose(file);
  }
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
  if (comm != MPI_COMM_WORLD && getenv("STOPPED_RANK") != NULL) {
    if (messages == 0) leave_process(rank);
    if (messages++ == number("STOPPED_AFTER") && rank == number("STOPPED_RANK")) stop_ranks();
  }
  return next(memory, count, type, to, tag, comm, request);
}

__attribute__((destructor)) static void print_votes(void) {
  if (votes > 0) fprintf(stderr, "tool: %d votes\n", votes);
}
