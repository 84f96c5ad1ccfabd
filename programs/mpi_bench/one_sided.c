#include "operation.h"

static void create(Exchange* e) {
  const size_t bytes = region_bytes((size_t)e->bytes, e->in.buffers);
  MPI_Win_create(e->in.base, (MPI_Aint)bytes, 1, MPI_INFO_NULL, e->ranks, &e->memory);
}

static void put_window(const Exchange* e) {
  for (int i = 0; i < e->window; ++i)
    MPI_Put(message_address(&e->out, i), e->bytes, MPI_BYTE, e->sends_to,
            (MPI_Aint)message_offset(&e->in, i), e->bytes, MPI_BYTE, e->memory);
}

void open_put(Exchange* e) {
  create(e);
  MPI_Win_lock_all(0, e->memory);
}

void put_and_flush(Exchange* e) {
  if (e->sends_to == NO_RANK) return;
  put_window(e);
  MPI_Win_flush(e->sends_to, e->memory);
}

void see_put(Exchange* e) { MPI_Win_sync(e->memory); }

void close_put(Exchange* e) {
  MPI_Win_unlock_all(e->memory);
  MPI_Win_free(&e->memory);
}

void open_put_fence(Exchange* e) {
  create(e);
  MPI_Win_fence(0, e->memory);
}

void put_and_fence(Exchange* e) {
  MPI_Win_fence(0, e->memory);
  if (e->sends_to != NO_RANK) put_window(e);
  MPI_Win_fence(0, e->memory);
}

void close_put_fence(Exchange* e) { MPI_Win_free(&e->memory); }
