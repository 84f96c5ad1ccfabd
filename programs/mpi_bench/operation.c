#include "operation.h"

#include <string.h>

#include "collective.h"

static int other_of_two(int rank, int size) {
  (void)size;
  return 1 - rank;
}

static int first_to_second(int rank, int size) {
  (void)size;
  return rank == 0 ? 1 : NO_RANK;
}

static int first_half_to_second_half(int rank, int size) {
  return rank < size / 2 ? rank + size / 2 : NO_RANK;
}

static int to_the_next(int rank, int size) { return (rank + 1) % size; }

/* A barrier before each call does not count, and the ranks' times are averaged, as in OSU's. */
#define COLLECTIVE_CALL(call, what)                                                         \
  {                                                                                         \
    .name = call, .meaning = what " (osu_" call ")", .all_ranks = true, .kind = COLLECTIVE, \
    .messages_in_turn = 1, .clock = MEAN_OF_RANKS, .once = call_collective,                 \
  }

const Operation operations[] = {
    {
        .name = "latency",
        .meaning = "one message there and back; half the time (osu_latency)",
        .messages_in_turn = 2,
        .clock = TIME_OF_FIRST_RANK,
        .sends_to = other_of_two,
        .once = ping_pong,
    },
    {
        .name = "bw",
        .meaning = "a window from rank 0 to rank 1, then 4 bytes back (osu_bw)",
        .windowed = true,
        .messages_in_turn = 1,
        .clock = TIME_OF_FIRST_RANK,
        .sends_to = first_to_second,
        .once = window_one_way,
    },
    {
        .name = "bibw",
        .meaning = "a window each way between ranks 0 and 1 at once (osu_bibw)",
        .windowed = true,
        .messages_in_turn = 1,
        .clock = TIME_OF_FIRST_RANK,
        .sends_to = other_of_two,
        .once = window_both_ways,
    },
    {
        .name = "mbw",
        .meaning =
            "bw of pairs at once, rank i to rank i + n/2; the senders' mean time (osu_mbw_mr)",
        .all_ranks = true,
        .even_ranks = true,
        .windowed = true,
        .messages_in_turn = 1,
        .clock = MEAN_OF_SENDERS,
        .sends_to = first_half_to_second_half,
        .once = window_one_way,
    },
    {
        .name = "put",
        .meaning = "a window of MPI_Put from rank 0 to rank 1, then MPI_Win_flush (osu_put_bw)",
        .windowed = true,
        .own_buffers = true,
        .messages_in_turn = 1,
        .clock = TIME_OF_FIRST_RANK,
        .sends_to = first_to_second,
        .begin = open_put,
        .once = put_and_flush,
        .make_visible = see_put,
        .end = close_put,
    },
    {
        .name = "put_fence",
        .meaning = "the same, each window between two MPI_Win_fence (osu_put_bw)",
        .windowed = true,
        .own_buffers = true,
        .messages_in_turn = 1,
        .clock = TIME_OF_FIRST_RANK,
        .sends_to = first_to_second,
        .begin = open_put_fence,
        .once = put_and_fence,
        .end = close_put_fence,
    },
    {
        .name = "ring",
        .meaning = "a window from every rank to the next, the last to the first; the slowest rank",
        .all_ranks = true,
        .windowed = true,
        .messages_in_turn = 1,
        .clock = TIME_OF_SLOWEST_RANK,
        .sends_to = to_the_next,
        .once = window_both_ways,
    },
    {
        .name = "jacobi",
        .meaning = "an iteration of a solver: a kernel, halos to both neighbours; the slowest rank",
        .all_ranks = true,
        .kind = SOLVER,
        .messages_in_turn = 1,
        .clock = TIME_OF_SLOWEST_RANK,
        .sends_to = to_the_next,
        .once = iterate_jacobi,
    },
    COLLECTIVE_CALL("allreduce", "the sum of all ranks' float32"),
    COLLECTIVE_CALL("reduce", "the same, at rank 0"),
    COLLECTIVE_CALL("reduce_scatter", "the same, a share at each rank"),
    COLLECTIVE_CALL("allgather", "a size from each rank to all"),
    COLLECTIVE_CALL("alltoall", "a size from each rank to each"),
    COLLECTIVE_CALL("bcast", "a size from rank 0 to all"),
    COLLECTIVE_CALL("gather", "a size from each rank to rank 0"),
    COLLECTIVE_CALL("scatter", "a size from rank 0 to each"),
};

const int operation_count = sizeof operations / sizeof operations[0];

const Operation* find_operation(const char* name) {
  for (int i = 0; i < operation_count; ++i)
    if (strcmp(operations[i].name, name) == 0) return &operations[i];
  return NULL;
}

int buffer_count(const Operation* operation, int window, bool buffer_per_message) {
  return operation->own_buffers || buffer_per_message ? window : 1;
}

int sender_to(const Operation* operation, int rank, int size) {
  for (int other = 0; other < size; ++other)
    if (operation->sends_to(other, size) == rank) return other;
  return NO_RANK;
}

int sender_count(const Operation* operation, int size) {
  int count = 0;
  for (int rank = 0; rank < size; ++rank) count += operation->sends_to(rank, size) != NO_RANK;
  return count;
}
