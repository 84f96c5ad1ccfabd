#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "collective_run.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "collective.h"
#include "failure.h"
#include "report.h"

/* Data shared by all sizes. */
typedef struct {
  const Operation* operation;
  const Options* options;
  Collective collective;
} Setting;

/* Open MPI's, MPICH's and others' own answer; an MPI that has none takes none. */
static bool mpi_takes_gpu_memory(void) {
  int (*query)(void) = NULL;
  void* const symbol = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
  if (symbol == NULL) return false;
  memcpy(&query, &symbol, sizeof query);
  return query() == 1;
}

static bool is_staged(const Options* options, const Memory* memory) {
  return options->staged && !mpi_takes_gpu_memory() &&
         (memory->kind == MEMORY_DEVICE || memory->kind == MEMORY_MANAGED);
}

static unsigned char* allocate_staged(const Options* options, const Memory* memory, size_t bytes) {
  const Memory pinned = {.kind = MEMORY_PINNED};
  return is_staged(options, memory) ? allocate(&pinned, bytes) : NULL;
}

static void release_staged(unsigned char* memory) {
  const Memory pinned = {.kind = MEMORY_PINNED};
  if (memory != NULL) release(&pinned, memory);
}

/* Memory for the largest size. */
static Collective open_collective(const Operation* operation, const Options* options,
                                  const Memory* sent_from, const Memory* received_into) {
  const size_t largest = (size_t)largest_size(options);
  Collective c = {
      .kind = find_collective(operation->name),
      .ranks = MPI_COMM_WORLD,
      .sent_from = sent_from,
      .received_into = received_into,
  };
  MPI_Comm_rank(c.ranks, &c.rank);
  MPI_Comm_size(c.ranks, &c.size);
  c.counts = allocate_host((unsigned long)c.size, sizeof *c.counts);
  c.out = allocate(sent_from, out_bytes(c.kind, largest, c.size));
  c.in = allocate(received_into, in_bytes(c.kind, largest, c.size) + GAP_BYTES);
  c.host_out = allocate_staged(options, sent_from, out_bytes(c.kind, largest, c.size));
  c.host_in = allocate_staged(options, received_into, in_bytes(c.kind, largest, c.size));
  return c;
}

static void close_collective(Collective* c) {
  release_staged(c->host_out);
  release_staged(c->host_in);
  release(c->sent_from, c->out);
  release(c->received_into, c->in);
  free(c->counts);
}

static Exchange exchange_of(Collective* c, int bytes) {
  const int elements = bytes / ELEMENT_BYTES;
  c->part = (size_t)bytes;
  for (int i = 0; i < c->size; ++i)
    c->counts[i] = elements / c->size + (i < elements % c->size ? 1 : 0);
  return (Exchange){
      .ranks = c->ranks,
      .rank = c->rank,
      .size = c->size,
      .bytes = bytes,
      .window = 1,
      .memory = MPI_WIN_NULL,
      .collective = c,
  };
}

/* Checked are the first call, the last of those that are timed, and one more. */
static Timing measure_checked(const Setting* of, Exchange* exchange, Checked* checked) {
  Timing timing;
  begin_collective_check(exchange);
  call_collective(exchange);
  *checked = end_collective_check(exchange);
  begin_collective_check(exchange);
  timing = measure(of->operation, exchange, of->options->effort);
  *checked = sum_of(*checked, end_collective_check(exchange));
  begin_collective_check(exchange);
  call_collective(exchange);
  *checked = sum_of(*checked, end_collective_check(exchange));
  return timing;
}

static double run_size(Setting* of, int bytes) {
  Exchange exchange = exchange_of(&of->collective, bytes);
  const bool check = of->options->check;
  Checked checked = {0, 0};
  const Timing timing = check ? measure_checked(of, &exchange, &checked)
                              : measure(of->operation, &exchange, of->options->effort);
  if (exchange.rank == 0)
    report_collective(of->operation, &exchange, timing, check ? &checked : NULL);
  return checked.wrong;
}

double run_collective(const Operation* operation, const Options* options, const Memory* sent_from,
                      const Memory* received_into) {
  Setting setting = {operation, options,
                     open_collective(operation, options, sent_from, received_into)};
  Exchange largest = exchange_of(&setting.collective, largest_size(options));
  double wrong = 0;
  warm_up(operation, &largest, options->effort.warm_up_seconds);
  for (int i = 0; i < options->size_count; ++i) wrong += run_size(&setting, options->sizes[i]);
  close_collective(&setting.collective);
  return wrong;
}

void try_collective(const Operation* operation, const Options* options, const Memory* sent_from,
                    const Memory* received_into) {
  Collective collective = open_collective(operation, options, sent_from, received_into);
  close_collective(&collective);
}
