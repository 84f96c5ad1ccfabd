#include "operation.h"

enum { MESSAGE_TAG = 1, ACKNOWLEDGEMENT_TAG = 2 };

static void send(const Exchange* e) {
  MPI_Send(message_address(&e->out, 0), e->bytes, MPI_BYTE, e->sends_to, MESSAGE_TAG, e->ranks);
}

static void receive(const Exchange* e) {
  MPI_Recv(message_address(&e->in, 0), e->bytes, MPI_BYTE, e->receives_from, MESSAGE_TAG, e->ranks,
           MPI_STATUS_IGNORE);
}

void ping_pong(Exchange* e) {
  if (e->rank == 0) {
    send(e);
    receive(e);
  } else {
    receive(e);
    send(e);
  }
}

static void post_receives(const Exchange* e, MPI_Request* requests) {
  for (int i = 0; i < e->window; ++i)
    MPI_Irecv(message_address(&e->in, i), e->bytes, MPI_BYTE, e->receives_from, MESSAGE_TAG,
              e->ranks, &requests[i]);
}

static void post_sends(const Exchange* e, MPI_Request* requests) {
  for (int i = 0; i < e->window; ++i)
    MPI_Isend(message_address(&e->out, i), e->bytes, MPI_BYTE, e->sends_to, MESSAGE_TAG, e->ranks,
              &requests[i]);
}

/* As in osu_bw the acknowledgement lies in the same kind of memory as the messages of that rank. */
void window_one_way(Exchange* e) {
  if (e->sends_to != NO_RANK) {
    post_sends(e, e->requests);
    MPI_Waitall(e->window, e->requests, MPI_STATUSES_IGNORE);
    MPI_Recv(acknowledgement(&e->out), ACKNOWLEDGEMENT_BYTES, MPI_BYTE, e->sends_to,
             ACKNOWLEDGEMENT_TAG, e->ranks, MPI_STATUS_IGNORE);
  } else if (e->receives_from != NO_RANK) {
    post_receives(e, e->requests);
    MPI_Waitall(e->window, e->requests, MPI_STATUSES_IGNORE);
    MPI_Send(acknowledgement(&e->in), ACKNOWLEDGEMENT_BYTES, MPI_BYTE, e->receives_from,
             ACKNOWLEDGEMENT_TAG, e->ranks);
  }
}

void window_both_ways(Exchange* e) {
  post_receives(e, e->requests);
  post_sends(e, e->requests + e->window);
  MPI_Waitall(2 * e->window, e->requests, MPI_STATUSES_IGNORE);
}
