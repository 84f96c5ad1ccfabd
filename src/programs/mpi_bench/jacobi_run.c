#include "jacobi_run.h"

#include "jacobi.h"
#include "report.h"

/* What all sizes share. */
typedef struct {
  const Operation* operation;
  const Options* options;
  const Memory* memory;
  const JacobiKernel* kernel; /* NULL: the host computes */
} Setting;

static int largest(const Options* options) {
  int result = 0;
  for (int i = 0; i < options->size_count; ++i)
    if (options->sizes[i] > result) result = options->sizes[i];
  return result;
}

static size_t bytes_for(const Options* options, int halo) {
  return jacobi_bytes((size_t)halo, (size_t)options->rows);
}

static Exchange exchange_of(int halo, MPI_Request* requests) {
  Exchange exchange = {
      .ranks = MPI_COMM_WORLD,
      .bytes = halo,
      .window = HALOS,
      .requests = requests,
      .memory = MPI_WIN_NULL,
  };
  MPI_Comm_rank(exchange.ranks, &exchange.rank);
  MPI_Comm_size(exchange.ranks, &exchange.size);
  return exchange;
}

/* A kernel cannot reach pageable memory, and is slow on the host's. */
static bool kernel_runs(const Options* options, const Memory* memory) {
  return options->image != NULL &&
         (memory->kind == MEMORY_DEVICE || memory->kind == MEMORY_MANAGED);
}

static void check_into(Exchange* exchange, Checked* sum) {
  const Checked checked = check_jacobi(exchange, checked_iterations(exchange->solver));
  *sum = (Checked){sum->compared + checked.compared, sum->wrong + checked.wrong};
}

static double measure_size(const Setting* of, Exchange* exchange) {
  const bool check = of->options->check;
  Checked checked = {0, 0};
  Timing timing;
  if (check) check_into(exchange, &checked);
  timing = measure(of->operation, exchange, of->options->effort);
  if (check) check_into(exchange, &checked);
  if (exchange->rank == 0) report_jacobi(of->operation, exchange, timing, check ? &checked : NULL);
  return checked.wrong;
}

/* With one solver on this memory: all sizes, or what comes before them. */
static double run_size(const Setting* of, void* base, int halo, bool warm) {
  MPI_Request requests[2 * HALOS];
  Exchange exchange = exchange_of(halo, requests);
  Jacobi jacobi = open_jacobi(&exchange, of->memory, base, (size_t)of->options->rows, of->kernel);
  double wrong = 0;
  exchange.solver = &jacobi;
  if (warm) wrong = measure_size(of, &exchange);
  else warm_up(of->operation, &exchange, of->options->effort.warm_up_seconds);
  close_jacobi(&jacobi);
  return wrong;
}

static double run_sizes(const Setting* of) {
  const Options* const options = of->options;
  void* const base = allocate(of->memory, bytes_for(options, largest(options)));
  double wrong = 0;
  run_size(of, base, largest(options), false);
  for (int i = 0; i < options->size_count; ++i)
    wrong += run_size(of, base, options->sizes[i], true);
  release(of->memory, base);
  return wrong;
}

double run_jacobi(const Operation* operation, const Options* options, const Memory* memory) {
  const bool has_kernel = kernel_runs(options, memory);
  JacobiKernel kernel;
  double wrong;
  if (has_kernel) kernel = load_jacobi_kernel(options->image);
  wrong = run_sizes(&(Setting){operation, options, memory, has_kernel ? &kernel : NULL});
  if (has_kernel) unload_jacobi_kernel(&kernel);
  return wrong;
}

void try_jacobi(const Options* options, const Memory* memory) {
  release(memory, allocate(memory, bytes_for(options, largest(options))));
}
