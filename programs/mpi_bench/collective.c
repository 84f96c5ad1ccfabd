#include "collective.h"

#include <string.h>

enum { ROOT = 0 };

static const CollectiveKind kinds[] = {
    {.name = "allreduce", .reduces = true},
    {.name = "reduce", .reduces = true, .to_root = true},
    {.name = "reduce_scatter", .reduces = true, .scattered = true},
    {.name = "allgather", .in_per_rank = true},
    {.name = "alltoall", .out_per_rank = true, .in_per_rank = true},
    {.name = "bcast", .from_root = true},
    {.name = "gather", .in_per_rank = true, .to_root = true},
    {.name = "scatter", .out_per_rank = true, .from_root = true},
};

const CollectiveKind* find_collective(const char* name) {
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i)
    if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
  return NULL;
}

size_t out_bytes(const CollectiveKind* kind, size_t part, int size) {
  return kind->out_per_rank ? part * (size_t)size : part;
}

size_t in_bytes(const CollectiveKind* kind, size_t part, int size) {
  return kind->in_per_rank ? part * (size_t)size : part;
}

size_t sent_bytes(const Collective* c) {
  return c->kind->from_root && c->rank != ROOT ? 0 : out_bytes(c->kind, c->part, c->size);
}

/* The root of a broadcast has its part where it sends it from. */
static bool only_sends(const Collective* c) {
  return c->kind->from_root && !c->kind->out_per_rank && c->rank == ROOT;
}

size_t received_bytes(const Collective* c) {
  if ((c->kind->to_root && c->rank != ROOT) || only_sends(c)) return 0;
  if (c->kind->scattered) return (size_t)c->counts[c->rank] * ELEMENT_BYTES;
  return in_bytes(c->kind, c->part, c->size);
}

size_t first_of_share(const Collective* c) {
  size_t first = 0;
  for (int i = 0; c->kind->scattered && i < c->rank; ++i) first += (size_t)c->counts[i];
  return first;
}

static void call_mpi(const Collective* c, void* out, void* in) {
  const char* const name = c->kind->name;
  const int bytes = (int)c->part, elements = bytes / ELEMENT_BYTES;
  if (strcmp(name, "allreduce") == 0)
    MPI_Allreduce(out, in, elements, MPI_FLOAT, MPI_SUM, c->ranks);
  else if (strcmp(name, "reduce") == 0)
    MPI_Reduce(out, in, elements, MPI_FLOAT, MPI_SUM, ROOT, c->ranks);
  else if (strcmp(name, "reduce_scatter") == 0)
    MPI_Reduce_scatter(out, in, c->counts, MPI_FLOAT, MPI_SUM, c->ranks);
  else if (strcmp(name, "allgather") == 0)
    MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, c->ranks);
  else if (strcmp(name, "alltoall") == 0)
    MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, c->ranks);
  else if (strcmp(name, "bcast") == 0)
    MPI_Bcast(only_sends(c) ? out : in, bytes, MPI_BYTE, ROOT, c->ranks);
  else if (strcmp(name, "gather") == 0)
    MPI_Gather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, ROOT, c->ranks);
  else MPI_Scatter(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, ROOT, c->ranks);
}

void call_collective(Exchange* exchange) {
  const Collective* const c = exchange->collective;
  const size_t sent = sent_bytes(c), received = received_bytes(c);
  if (c->host_out != NULL && sent > 0) copy_out(c->sent_from, c->host_out, c->out, sent);
  call_mpi(c, c->host_out != NULL ? c->host_out : c->out, c->host_in != NULL ? c->host_in : c->in);
  if (c->host_in != NULL && received > 0) copy_in(c->received_into, c->in, c->host_in, received);
}
