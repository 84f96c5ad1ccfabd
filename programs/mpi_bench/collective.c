#include "collective.h"

#include <string.h>

enum { ROOT = 0 };

/* The root of a broadcast has its part where it sends it from. */
static bool only_sends(const Collective* c) {
  return c->kind->from_root && !c->kind->out_per_rank && c->rank == ROOT;
}

static int bytes_of(const Collective* c) { return (int)c->part; }
static int elements_of(const Collective* c) { return bytes_of(c) / ELEMENT_BYTES; }

static void allreduce(const Collective* c, void* out, void* in) {
  MPI_Allreduce(out, in, elements_of(c), MPI_FLOAT, MPI_SUM, c->ranks);
}
static void reduce(const Collective* c, void* out, void* in) {
  MPI_Reduce(out, in, elements_of(c), MPI_FLOAT, MPI_SUM, ROOT, c->ranks);
}
static void reduce_scatter(const Collective* c, void* out, void* in) {
  MPI_Reduce_scatter(out, in, c->counts, MPI_FLOAT, MPI_SUM, c->ranks);
}
static void allgather(const Collective* c, void* out, void* in) {
  MPI_Allgather(out, bytes_of(c), MPI_BYTE, in, bytes_of(c), MPI_BYTE, c->ranks);
}
static void alltoall(const Collective* c, void* out, void* in) {
  MPI_Alltoall(out, bytes_of(c), MPI_BYTE, in, bytes_of(c), MPI_BYTE, c->ranks);
}
static void bcast(const Collective* c, void* out, void* in) {
  MPI_Bcast(only_sends(c) ? out : in, bytes_of(c), MPI_BYTE, ROOT, c->ranks);
}
static void gather(const Collective* c, void* out, void* in) {
  MPI_Gather(out, bytes_of(c), MPI_BYTE, in, bytes_of(c), MPI_BYTE, ROOT, c->ranks);
}
static void scatter(const Collective* c, void* out, void* in) {
  MPI_Scatter(out, bytes_of(c), MPI_BYTE, in, bytes_of(c), MPI_BYTE, ROOT, c->ranks);
}

static const CollectiveKind kinds[] = {
    {.name = "allreduce", .call = allreduce, .reduces = true},
    {.name = "reduce", .call = reduce, .reduces = true, .to_root = true},
    {.name = "reduce_scatter", .call = reduce_scatter, .reduces = true, .scattered = true},
    {.name = "allgather", .call = allgather, .in_per_rank = true},
    {.name = "alltoall", .call = alltoall, .out_per_rank = true, .in_per_rank = true},
    {.name = "bcast", .call = bcast, .from_root = true},
    {.name = "gather", .call = gather, .in_per_rank = true, .to_root = true},
    {.name = "scatter", .call = scatter, .out_per_rank = true, .from_root = true},
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

void call_collective(Exchange* exchange) {
  const Collective* const c = exchange->collective;
  const size_t sent = sent_bytes(c), received = received_bytes(c);
  if (c->host_out != NULL && sent > 0) copy_out(c->sent_from, c->host_out, c->out, sent);
  c->kind->call(c, c->host_out != NULL ? c->host_out : c->out,
                c->host_in != NULL ? c->host_in : c->in);
  if (c->host_in != NULL && received > 0) copy_in(c->received_into, c->in, c->host_in, received);
}
