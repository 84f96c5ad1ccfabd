#include "jacobi_run.h"

#include "jacobi.h"
#include "report.h"

/* Data shared by all sizes. */
typedef struct {
  const Operation* operation;
  const Options* options;
  const Memory* memory;
  const JacobiKernel* kernel; /* NULL: the host computes */
} Setting;

static size_t largest_bytes(const Options* options) {
  return jacobi_bytes((size_t)largest_size(options), (size_t)options->rows);
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

/* Runs one solver. Returns how many bytes were wrong. */
typedef double (*Work)(const Setting* of, Exchange* exchange);

static double warm_up_solver(const Setting* of, Exchange* exchange) {
  warm_up(of->operation, exchange, of->options->effort.warm_up_seconds);
  return 0;
}

static double measure_unchecked(const Setting* of, Exchange* exchange) {
  const Timing timing = measure(of->operation, exchange, of->options->effort);
  if (exchange->rank == 0) report_jacobi(of->operation, exchange, timing, NULL);
  return 0;
}

static double measure_checked(const Setting* of, Exchange* exchange) {
  const Checked before = check_jacobi(exchange);
  const Timing timing = measure(of->operation, exchange, of->options->effort);
  const Checked both = sum_of(before, check_jacobi(exchange));
  if (exchange->rank == 0) report_jacobi(of->operation, exchange, timing, &both);
  return both.wrong;
}

static double with_solver(const Setting* of, void* base, int halo, Work work) {
  MPI_Request requests[2 * HALOS];
  Exchange exchange = exchange_of(halo, requests);
  Jacobi jacobi = open_jacobi(&exchange, of->memory, base, (size_t)of->options->rows, of->kernel);
  double wrong;
  exchange.solver = &jacobi;
  wrong = work(of, &exchange);
  close_jacobi(&jacobi);
  return wrong;
}

static double run_sizes(const Setting* of) {
  const Options* const options = of->options;
  void* const base = allocate(of->memory, largest_bytes(options));
  double wrong = with_solver(of, base, largest_size(options), warm_up_solver);
  for (int i = 0; i < options->size_count; ++i)
    wrong += with_solver(of, base, options->sizes[i],
                         options->check ? measure_checked : measure_unchecked);
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
  release(memory, allocate(memory, largest_bytes(options)));
}
