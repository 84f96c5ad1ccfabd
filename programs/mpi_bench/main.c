/* Measures MPI messages and checks every byte. Works with every MPI, on host memory and on that of
   GPUs; it knows nothing of Polypath but whether it is loaded. */
#include <mpi.h>
#include <stdlib.h>

#include "check.h"
#include "collective_run.h"
#include "failure.h"
#include "jacobi_run.h"
#include "measure.h"
#include "options.h"
#include "report.h"

/* Data shared by all measurements of a run. */
typedef struct {
  Options options;
  Memory sent_from, received_into;
  MPI_Comm first_two; /* MPI_COMM_NULL in the other ranks */
  MPI_Request* requests;
  double wrong_bytes;
} Run;

static int rank_on_node(void) {
  MPI_Comm node;
  int rank = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank);
  MPI_Comm_free(&node);
  return rank;
}

static MPI_Comm first_two_ranks(void) {
  MPI_Comm two;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &two);
  return two;
}

/* Checked are the first exchange ever, the bytes that the timed ones left behind, and one more
   after them, when everything is warm. */
static Timing measure_checked(const Operation* operation, Exchange* exchange, Effort effort,
                              Checked* checked) {
  Timing timing;
  begin_check(exchange);
  operation->once(exchange);
  *checked = end_check(operation, exchange);
  begin_check(exchange);
  timing = measure(operation, exchange, effort);
  *checked = sum_of(*checked, end_check(operation, exchange));
  begin_check(exchange);
  operation->once(exchange);
  *checked = sum_of(*checked, end_check(operation, exchange));
  return timing;
}

static void run_exchange(Run* run, const Operation* operation, Exchange* exchange) {
  const Options* const options = &run->options;
  Checked checked = {0, 0};
  Timing timing;
  if (operation->begin != NULL) operation->begin(exchange);
  timing = options->check ? measure_checked(operation, exchange, options->effort, &checked)
                          : measure(operation, exchange, options->effort);
  if (operation->end != NULL) operation->end(exchange);
  if (exchange->rank == 0)
    report_result(operation, exchange, timing, options->check ? &checked : NULL);
  run->wrong_bytes += checked.wrong;
}

static Exchange exchange_of(const Run* run, const Operation* operation, int bytes, int window) {
  Exchange exchange = {
      .ranks = operation->all_ranks ? MPI_COMM_WORLD : run->first_two,
      .bytes = bytes,
      .window = window,
      .requests = run->requests,
      .memory = MPI_WIN_NULL,
  };
  MPI_Comm_rank(exchange.ranks, &exchange.rank);
  MPI_Comm_size(exchange.ranks, &exchange.size);
  exchange.sends_to = operation->sends_to(exchange.rank, exchange.size);
  exchange.receives_from = sender_to(operation, exchange.rank, exchange.size);
  return exchange;
}

/* The bytes to send, and where they are received. */
typedef struct {
  void *out, *in;
} Buffers;

static Buffers allocate_buffers(const Run* run, int count) {
  const size_t bytes = region_bytes((size_t)largest_size(&run->options), count);
  void* const out = allocate(&run->sent_from, bytes);
  return (Buffers){out, allocate(&run->received_into, bytes)};
}

static void release_buffers(const Run* run, Buffers buffers) {
  release(&run->sent_from, buffers.out);
  release(&run->received_into, buffers.in);
}

static Exchange exchange_over(const Run* run, const Operation* operation, Buffers buffers,
                              int bytes, int window) {
  const int count = buffer_count(operation, window, run->options.buffer_per_message);
  Exchange exchange = exchange_of(run, operation, bytes, window);
  exchange.out = region_at(&run->sent_from, buffers.out, (size_t)bytes, count);
  exchange.in = region_at(&run->received_into, buffers.in, (size_t)bytes, count);
  return exchange;
}

/* Of the largest size: others need no more than it does. */
static void warm_up_operation(const Run* run, const Operation* operation, Buffers buffers,
                              int window) {
  const Options* const options = &run->options;
  Exchange exchange = exchange_over(run, operation, buffers, largest_size(options), window);
  if (operation->begin != NULL) operation->begin(&exchange);
  warm_up(operation, &exchange, options->effort.warm_up_seconds);
  if (operation->end != NULL) operation->end(&exchange);
}

static void run_sizes(Run* run, const Operation* operation, int window) {
  const Options* const options = &run->options;
  const int count = buffer_count(operation, window, options->buffer_per_message);
  const Buffers buffers = allocate_buffers(run, count);
  if (!operation->windowed || window == options->windows[0])
    warm_up_operation(run, operation, buffers, window);
  for (int i = 0; i < options->size_count; ++i) {
    Exchange exchange = exchange_over(run, operation, buffers, options->sizes[i], window);
    run_exchange(run, operation, &exchange);
  }
  release_buffers(run, buffers);
}

static void run_messages(Run* run, const Operation* operation) {
  const Options* const options = &run->options;
  const int takes_part = operation->all_ranks || run->first_two != MPI_COMM_NULL;
  const int windows = operation->windowed ? options->window_count : 1;
  for (int i = 0; i < windows && takes_part; ++i)
    run_sizes(run, operation, operation->windowed ? options->windows[i] : 1);
}

static void run_operation(Run* run, const Operation* operation) {
  switch (operation->kind) {
    case MESSAGES: run_messages(run, operation); break;
    case SOLVER: run->wrong_bytes += run_jacobi(operation, &run->options, &run->sent_from); break;
    case COLLECTIVE:
      run->wrong_bytes +=
          run_collective(operation, &run->options, &run->sent_from, &run->received_into);
      break;
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* The most buffers that an operation wants. */
static int greatest_count(const Options* options, const Operation* operation) {
  const int window = operation->windowed ? largest_window(options) : 1;
  return buffer_count(operation, window, options->buffer_per_message);
}

static void try_operation(const Run* run, const Operation* operation) {
  const Options* const options = &run->options;
  switch (operation->kind) {
    case MESSAGES:
      release_buffers(run, allocate_buffers(run, greatest_count(options, operation)));
      break;
    case SOLVER: try_jacobi(options, &run->sent_from); break;
    case COLLECTIVE: try_collective(operation, options, &run->sent_from, &run->received_into);
  }
}

/* Finds out at once, and not after an hour, that memory is too small. */
static void try_largest(const Run* run) {
  for (int i = 0; i < run->options.operation_count; ++i)
    try_operation(run, run->options.operations[i]);
  MPI_Barrier(MPI_COMM_WORLD);
}

static Run prepare(int count, char** arguments) {
  Run run = {.wrong_bytes = 0};
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  run.options = read_options(count, arguments, ranks);
  run.sent_from = open_memory(run.options.sent_from, rank_on_node());
  run.received_into = open_memory(run.options.received_into, rank_on_node());
  run.first_two = first_two_ranks();
  run.requests = allocate_host(2 * MOST_WINDOW, sizeof *run.requests);
  return run;
}

int main(int count, char** arguments) {
  Run run;
  int rank = 0;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  run = prepare(count, arguments);
  report_start(&run.sent_from, &run.received_into, run.options.buffer_per_message);
  try_largest(&run);
  for (int i = 0; i < run.options.operation_count; ++i)
    run_operation(&run, run.options.operations[i]);
  if (rank == 0) report_end(run.wrong_bytes);
  if (run.first_two != MPI_COMM_NULL) MPI_Comm_free(&run.first_two);
  free(run.requests);
  close_memory(&run.sent_from);
  close_memory(&run.received_into);
  MPI_Finalize();
  return run.wrong_bytes > 0 ? STATUS_FAILED : STATUS_DONE;
}
