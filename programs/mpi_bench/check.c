#include "check.h"

#include <stdint.h>
#include <stdio.h>

#include "failure.h"

/* Counts the checks of this process; the ranks of an exchange agree on its number. */
static uint64_t latest = 0;

void begin_check(const Exchange* exchange) {
  const uint64_t mine = latest + 1;
  MPI_Allreduce(&mine, &latest, 1, MPI_UINT64_T, MPI_MAX, exchange->ranks);
  if (exchange->sends_to != NO_RANK) fill_region(&exchange->out, latest, exchange->rank);
  if (exchange->receives_from != NO_RANK)
    poison_region(&exchange->in, latest, exchange->receives_from);
  MPI_Barrier(exchange->ranks);
}

Checked sum_of(Checked a, Checked b) {
  return (Checked){a.compared + b.compared, a.wrong + b.wrong};
}

Checked checked_by_all(const Exchange* exchange, size_t compared, size_t wrong) {
  const double mine[2] = {(double)compared, (double)wrong};
  double all[2];
  MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, exchange->ranks);
  return (Checked){all[0], all[1]};
}

static void complain(const Operation* operation, const Exchange* exchange, Verdict verdict) {
  const int outside = verdict.buffer < 0 || verdict.offset >= (size_t)exchange->bytes;
  fprintf(stderr,
          PROGRAM_NAME
          ": rank %d: %s of %d bytes, window %d: %zu wrong bytes from rank %d, the "
          "first %s buffer %d, offset %zu\n",
          exchange->rank, operation->name, exchange->bytes, exchange->window, verdict.wrong,
          exchange->receives_from, outside ? "outside, near" : "in", verdict.buffer,
          verdict.offset);
  fflush(stderr);
}

Checked end_check(const Operation* operation, Exchange* exchange) {
  Verdict verdict = {.buffer = -1};
  MPI_Barrier(exchange->ranks);
  if (operation->make_visible != NULL) operation->make_visible(exchange);
  if (exchange->receives_from != NO_RANK)
    verdict = compare_region(&exchange->in, latest, exchange->receives_from);
  if (verdict.wrong > 0) complain(operation, exchange, verdict);
  return checked_by_all(exchange, verdict.compared, verdict.wrong);
}
