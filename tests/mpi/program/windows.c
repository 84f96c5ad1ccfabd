/* Random one-sided calls on memory of GPUs, of which every byte is compared with MPI's own result
   in memory of the host.

   windows SEED EPOCHS MEMORY: "device" (windows and the ranks' own memory), "mixed" (any of them
   may be the host's), "origins" (windows of MPI's own memory), "attached" (dynamic windows),
   "managed" */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"

enum { SLOTS = 96, MOST_RANKS = 8, MOST = SLOTS * MOST_RANKS };
enum operation { PUT, GET, ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP, COMPARE_AND_SWAP, OPERATIONS };
enum synchronisation { FENCE, GROUPS, LOCK, LOCK_ALL, SYNCHRONISATIONS };
static const char* names[] = {
    "put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"};
static const char* syncs[] = {"fence", "groups", "lock", "lock_all"};

static unsigned long long state;
/* The same numbers at all ranks. */
static unsigned chance(unsigned most) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(state >> 33) % most;
}

static int rank, size;
static MPI_Datatype strided, triple;

/* A window with this rank's memory in it, and where the others' begins. */
struct view {
  MPI_Win window;
  struct buffer part;
  MPI_Aint begin[MOST_RANKS];
  MPI_Aint unit;
};

/* What one rank does at one target. */
struct act {
  enum operation operation;
  int target, at, count; /* at: in ints */
  MPI_Datatype type;     /* the target's */
  MPI_Op op;
  int with_request;
};

/* The same call with memory on a GPU and with memory of the host. */
struct side {
  struct view* view;
  struct buffer origin, compare, result;
};

static int ints_of(MPI_Datatype type) { return type == strided ? 2 : type == triple ? 3 : 1; }

static void call(const struct act* act, const struct side* side, MPI_Request* request) {
  const int ints = act->count * ints_of(act->type), target = act->target;
  const MPI_Aint at =
      side->view->begin[target] + act->at * (MPI_Aint)sizeof(int) / side->view->unit;
  const MPI_Win window = side->view->window;
  void *const origin = side->origin.address, *const result = side->result.address;
  switch (act->operation) {
    case PUT:
      if (request)
        MPI_Rput(origin, ints, MPI_INT, target, at, act->count, act->type, window, request);
      else MPI_Put(origin, ints, MPI_INT, target, at, act->count, act->type, window);
      break;
    case GET:
      if (request)
        MPI_Rget(result, ints, MPI_INT, target, at, act->count, act->type, window, request);
      else MPI_Get(result, act->count, act->type, target, at, ints, MPI_INT, window);
      break;
    case ACCUMULATE:
      if (request)
        MPI_Raccumulate(origin, ints, MPI_INT, target, at, act->count, act->type, act->op, window,
                        request);
      else
        MPI_Accumulate(origin, ints, MPI_INT, target, at, act->count, act->type, act->op, window);
      break;
    case GET_ACCUMULATE:
      if (request)
        MPI_Rget_accumulate(origin, ints, MPI_INT, result, ints, MPI_INT, target, at, act->count,
                            act->type, act->op, window, request);
      else
        MPI_Get_accumulate(origin, ints, MPI_INT, result, ints, MPI_INT, target, at, act->count,
                           act->type, act->op, window);
      break;
    case FETCH_AND_OP:
      MPI_Fetch_and_op(origin, result, MPI_INT, target, at, act->op, window);
      break;
    default:
      MPI_Compare_and_swap(origin, side->compare.address, result, MPI_INT, target, at, window);
  }
}

/* Draws for every rank and target alike; returns this rank's. */
static void choose(struct act acts[MOST_RANKS]) {
  const enum operation operation = (enum operation)chance(OPERATIONS);
  for (int from = 0; from < size; ++from)
    for (int to = 0; to < size; ++to) {
      struct act act = {operation, to, 0, 0, MPI_INT, MPI_SUM, 0};
      const unsigned type = chance(3), op = chance(4), request = chance(2);
      act.type = type == 0 ? MPI_INT : type == 1 ? strided : triple;
      if (op == 1) act.op = MPI_MAX;
      if (op == 2) act.op = MPI_REPLACE;
      if (op == 3 && operation >= GET_ACCUMULATE) act.op = MPI_NO_OP;
      if (operation == ACCUMULATE) act.op = MPI_SUM; /* of all ranks at the same place */
      act.count = (int)chance(SLOTS / 4);
      act.at = (int)chance(SLOTS / 4);
      if (operation != ACCUMULATE) act.at += from * SLOTS;
      act.with_request = (int)request;
      if (from == rank) acts[to] = act;
    }
}

/* A store of this rank's own: what another rank puts before the epoch begins here is lost. */
static void store_late(const struct view* view) {
  unsigned char bytes[MOST * sizeof(int)];
  read_bytes(view->part, 0, bytes, view->part.size);
  if (rank % 2) usleep(1000);
  write_bytes(view->part, 0, bytes, view->part.size);
}

static void begin_epoch(enum synchronisation how, const struct view* view, MPI_Group all) {
  if (how == FENCE || how == GROUPS) store_late(view);
  if (how == FENCE) MPI_Win_fence(MPI_MODE_NOPRECEDE, view->window);
  if (how == GROUPS) MPI_Win_post(all, 0, view->window), MPI_Win_start(all, 0, view->window);
  if (how == LOCK_ALL) MPI_Win_lock_all(0, view->window);
}

static void end_epoch(enum synchronisation how, MPI_Win window) {
  if (how == FENCE) MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  if (how == GROUPS) {
    int done = 0;
    MPI_Win_complete(window);
    if (rank % 2) MPI_Win_wait(window);
    else
      while (!done) MPI_Win_test(window, &done);
  }
  if (how == LOCK_ALL) MPI_Win_flush_all(window), MPI_Win_unlock_all(window);
}

/* One call to each rank, in another order at each. */
static void call_all(enum synchronisation how, const struct act* acts, const struct side* sides) {
  const MPI_Win window = sides[0].view->window;
  MPI_Request requests[MOST_RANKS];
  MPI_Status statuses[MOST_RANKS];
  int many = 0;
  for (int i = 0; i < size; ++i) {
    const int to = (i + rank) % size;
    const int may_request = how == LOCK || how == LOCK_ALL;
    const int requests_it =
        may_request && acts[to].with_request && acts[to].operation < FETCH_AND_OP;
    if (how == LOCK) MPI_Win_lock(to % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, to, 0, window);
    call(&acts[to], &sides[to], requests_it ? &requests[many] : NULL);
    many += requests_it;
    if (how == LOCK && requests_it) MPI_Wait(&requests[--many], MPI_STATUS_IGNORE);
    if (how == LOCK_ALL && to == 0) MPI_Win_flush(to, window);
    if (how == LOCK) MPI_Win_unlock(to, window);
  }
  MPI_Waitall(many, requests, statuses);
}

static void synchronise_around(enum synchronisation how, const struct act* acts,
                               const struct side* sides) {
  MPI_Group all;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  begin_epoch(how, sides[0].view, all);
  call_all(how, acts, sides);
  end_epoch(how, sides[0].view->window);
  MPI_Group_free(&all);
  MPI_Barrier(MPI_COMM_WORLD);
}

static enum kind kind_of(const char* memory, unsigned draw) {
  if (strcmp(memory, "managed") == 0) return MANAGED;
  return strcmp(memory, "mixed") == 0 && draw % 2 ? HOST : DEVICE;
}

static void fill(struct buffer buffer, struct buffer same, unsigned seed) {
  int words[MOST];
  for (size_t i = 0; i < buffer.size / sizeof(int); ++i) words[i] = (int)((seed + i * 7) % 11);
  write_bytes(buffer, 0, (unsigned char*)words, buffer.size);
  write_bytes(same, 0, (unsigned char*)words, buffer.size);
}

static int same_bytes(struct buffer buffer, struct buffer expected) {
  unsigned char found[MOST * sizeof(int)];
  read_bytes(buffer, 0, found, buffer.size);
  return memcmp(found, expected.address, buffer.size) == 0;
}

static struct side side_in(struct view* view, enum kind kind, enum kind other) {
  const size_t bytes = SLOTS * sizeof(int);
  const struct side made = {view, allocate(kind, bytes), allocate(other, bytes),
                            allocate(other, bytes)};
  return made;
}

static void put_away(struct side* side) {
  release(&side->origin);
  release(&side->compare);
  release(&side->result);
}

static int epoch(struct view* view, struct view* expected, const char* memory, int number) {
  const enum synchronisation how = (enum synchronisation)chance(SYNCHRONISATIONS);
  struct act acts[MOST_RANKS];
  struct side on_gpu[MOST_RANKS], in_host[MOST_RANKS];
  const unsigned draw = chance(1u << 20);
  int right = 1;
  choose(acts);
  for (int to = 0; to < size; ++to) {
    on_gpu[to] = side_in(view, kind_of(memory, draw >> (rank + to)), kind_of(memory, draw >> to));
    in_host[to] = side_in(expected, HOST, HOST);
    fill(on_gpu[to].origin, in_host[to].origin, draw + (unsigned)(rank + to));
    fill(on_gpu[to].compare, in_host[to].compare, draw % 5);
    fill(on_gpu[to].result, in_host[to].result, draw % 7);
  }
  synchronise_around(how, acts, on_gpu);
  synchronise_around(how, acts, in_host);
  for (int to = 0; to < size; ++to) {
    const int is_right = same_bytes(on_gpu[to].result, in_host[to].result) &&
                         same_bytes(on_gpu[to].origin, in_host[to].origin);
    if (!is_right)
      printf("rank %d: %s by %s at rank %d is wrong here (epoch %d)\n", rank,
             names[acts[to].operation], syncs[how], to, number);
    right &= is_right;
    put_away(&on_gpu[to]);
    put_away(&in_host[to]);
  }
  if (!same_bytes(view->part, expected->part)) {
    printf("rank %d: after %s by %s its window is wrong (epoch %d)\n", rank,
           names[acts[0].operation], syncs[how], number);
    right = 0;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return right;
}

static void make_view(struct view* view, enum kind kind, const char* how) {
  const size_t bytes = MOST * sizeof(int);
  memset(view, 0, sizeof *view);
  view->unit = sizeof(int);
  view->part = allocate(kind, bytes);
  if (strcmp(how, "attached") == 0) {
    MPI_Aint mine;
    view->unit = 1;
    MPI_Get_address(view->part.address, &mine);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &view->window);
    MPI_Win_attach(view->window, view->part.address, (MPI_Aint)bytes);
    MPI_Allgather(&mine, 1, MPI_AINT, view->begin, 1, MPI_AINT, MPI_COMM_WORLD);
  } else {
    MPI_Win_create(view->part.address, (MPI_Aint)bytes, (int)view->unit, MPI_INFO_NULL,
                   MPI_COMM_WORLD, &view->window);
  }
}

static int has_attributes(const struct view* view) {
  void* base = NULL;
  MPI_Aint* bytes = NULL;
  int* unit = NULL;
  int there[3];
  MPI_Win_get_attr(view->window, MPI_WIN_BASE, &base, &there[0]);
  MPI_Win_get_attr(view->window, MPI_WIN_SIZE, &bytes, &there[1]);
  MPI_Win_get_attr(view->window, MPI_WIN_DISP_UNIT, &unit, &there[2]);
  const int right = there[0] && there[1] && there[2] && base == (void*)view->part.address &&
                    *bytes == (MPI_Aint)view->part.size && *unit == (int)view->unit;
  if (!right) printf("rank %d: an attribute of the window is wrong\n", rank);
  return right;
}

/* All ranks count up one number of rank 0's: by an atomic call, and in a lock. */
static int count_up(struct view* view) {
  enum { TIMES = 25 };
  const int one = 1, wanted = TIMES * size;
  int zeros[2] = {0, 0}, before = -1, right = 1;
  if (rank == 0) write_bytes(view->part, 0, (unsigned char*)zeros, sizeof zeros);
  MPI_Barrier(MPI_COMM_WORLD);
  const MPI_Aint second = view->begin[0] + (MPI_Aint)sizeof(int) / view->unit;
  for (int i = 0; i < TIMES; ++i) {
    int found, kept;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, view->window);
    MPI_Fetch_and_op(&one, &found, MPI_INT, 0, view->begin[0], MPI_SUM, view->window);
    MPI_Win_unlock(0, view->window);
    right &= found > before && found < wanted;
    before = found;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, view->window);
    MPI_Get(&kept, 1, MPI_INT, 0, second, 1, MPI_INT, view->window);
    MPI_Win_flush(0, view->window);
    ++kept;
    MPI_Put(&kept, 1, MPI_INT, 0, second, 1, MPI_INT, view->window);
    MPI_Win_unlock(0, view->window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) read_bytes(view->part, 0, (unsigned char*)zeros, sizeof zeros);
  if (rank == 0) right &= zeros[0] == wanted && zeros[1] == wanted;
  if (!right) printf("rank %d: numbers were not counted up one by one\n", rank);
  MPI_Barrier(MPI_COMM_WORLD);
  return right;
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  if (count < 4) return 2;
  const char* const memory = arguments[3];
  const int epochs = atoi(arguments[2]);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  state = strtoull(arguments[1], NULL, 10) * 977 + 5;
  open_driver(rank);
  MPI_Type_vector(2, 1, 2, MPI_INT, &strided);
  MPI_Type_commit(&strided);
  MPI_Type_contiguous(3, MPI_INT, &triple);
  MPI_Type_commit(&triple);
  const int in_host = strcmp(memory, "origins") == 0;
  struct view view, expected;
  const unsigned draw = chance(1u << 16);
  make_view(&view, in_host ? HOST : kind_of(memory, draw >> rank), memory);
  make_view(&expected, HOST, "");
  fill(view.part, expected.part, (unsigned)rank);
  MPI_Barrier(MPI_COMM_WORLD);
  int right = strcmp(memory, "attached") == 0 || has_attributes(&view), all_right = 0;
  for (int i = 0; i < epochs; ++i) right &= epoch(&view, &expected, memory, i);
  right &= count_up(&view);
  if (strcmp(memory, "attached") == 0) MPI_Win_detach(view.window, view.part.address);
  MPI_Win_free(&view.window);
  MPI_Win_free(&expected.window);
  release(&view.part);
  release(&expected.part);
  MPI_Allreduce(&right, &all_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0 && all_right) printf("right %d\n", epochs);
  MPI_Type_free(&strided);
  MPI_Type_free(&triple);
  MPI_Finalize();
  return all_right ? 0 : 1;
}
