// A libnccl.so.2 for the tests of scripts/rivals/nccl_library.py: it has what that calls, on memory
// of the host, and writes each call as a line of the file that FAKE_NCCL_CALLS names. It has one
// rank, so results are what is sent. FAKE_NCCL_FAILS names a function that fails.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef FAKE_NCCL_VERSION
#define FAKE_NCCL_VERSION 23203
#endif

typedef struct {
  char internal[128];
} UniqueId;

// ncclConfig_t, by hand from nccl.h of 2.32.3.
typedef struct {
  size_t size;
  unsigned int magic, version;
  int blocking, cga_cluster_size, min_ctas, max_ctas;
  const char* net_name;
  int split_share, traffic_class;
  const char* comm_name;
  int collnet_enable, cta_policy, shrink_share, nvls_ctas, channels_per_peer, nvlink_centric;
  int graph_usage, rma_contexts, peers, stream_ordering, launch_order, rma_signals, rma_eager;
  int host_cft, nvls_host;
} Config;

static int told(const char* name, const char* format, ...) {
  FILE* calls = fopen(getenv("FAKE_NCCL_CALLS"), "a");
  fprintf(calls, "%s", name);
  va_list values;
  va_start(values, format);
  vfprintf(calls, format, values);
  va_end(values);
  fprintf(calls, "\n");
  fclose(calls);
  const char* fails = getenv("FAKE_NCCL_FAILS");
  return fails && strcmp(fails, name) == 0 ? 5 : 0;
}

static const int SIZES[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};  // by ncclDataType_t

const char* ncclGetErrorString(int status) { return status == 5 ? "invalid usage" : "no error"; }

int ncclGetVersion(int* version) {
  *version = FAKE_NCCL_VERSION;
  return 0;
}

// It calls what it exports itself, as the real one does.
int ncclGetUniqueId(UniqueId* id) {
  int version;
  ncclGetVersion(&version);
  memset(id, 0, sizeof *id);
  snprintf(id->internal + 1, 100, "%d", version);  // after a zero: it is no text
  id->internal[127] = 'z';
  return told("ncclGetUniqueId", "");
}

int ncclCommInitRankConfig(void** comm, int ranks, UniqueId id, int rank, const Config* config) {
  *comm = malloc(1);
  return told("ncclCommInitRankConfig", " %d %d %s%c %zu %x %u %d %d %d %d %d", ranks, rank,
              id.internal + 1, id.internal[127], config->size, config->magic, config->version,
              config->blocking == (-2147483647 - 1), config->net_name == NULL, config->cta_policy,
              config->nvlink_centric == (-2147483647 - 1), config->nvls_host == 2147483647);
}

int ncclCommDestroy(void* comm) {
  free(comm);
  return told("ncclCommDestroy", "");
}

int ncclMemAlloc(void** memory, size_t size) {
  *memory = calloc(size, 1);
  return told("ncclMemAlloc", " %zu", size);
}

int ncclMemFree(void* memory) {
  free(memory);
  return told("ncclMemFree", "");
}

int ncclCommWindowRegister(void* comm, void* memory, size_t size, void** window, int flags) {
  (void)comm;
  *window = getenv("FAKE_NCCL_NO_WINDOWS") ? NULL : memory;
  return told("ncclCommWindowRegister", " %zu %d", size, flags);
}

int ncclCommWindowDeregister(void* comm, void* window) {
  (void)comm, (void)window;
  return told("ncclCommWindowDeregister", "");
}

static int moved(const char* name, const void* from, void* to, size_t count, int type, int choice,
                 const void* comm, const void* stream) {
  if (from != to) memcpy(to, from, count * SIZES[type]);
  return told(name, " %zu %d %d %d %zu", count, type, choice, comm != NULL, (size_t)stream);
}

#define WITH_CHOICE(name)                                                              \
  int name(const void* from, void* to, size_t count, int type, int choice, void* comm, \
           void* stream) {                                                             \
    return moved(#name, from, to, count, type, choice, comm, stream);                  \
  }
#define WITHOUT_CHOICE(name)                                                               \
  int name(const void* from, void* to, size_t count, int type, void* comm, void* stream) { \
    return moved(#name, from, to, count, type, -1, comm, stream);                          \
  }

WITH_CHOICE(ncclAllReduce)
WITH_CHOICE(ncclBroadcast)
WITH_CHOICE(ncclReduceScatter)
WITHOUT_CHOICE(ncclAllGather)
WITHOUT_CHOICE(ncclAlltoAll)
