#define _GNU_SOURCE /* RTLD_NOLOAD */
#include "report.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective.h"
#include "failure.h"
#include "jacobi.h"

static void print_text(const char* text) {
  putchar('"');
  for (; *text != '\0'; ++text) {
    const unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\') printf("\\%c", c);
    else if (c < 0x20) printf("\\u%04x", c);
    else putchar(c);
  }
  putchar('"');
}

static void print_field(const char* name, const char* text) {
  printf(",\"%s\":", name);
  print_text(text);
}

/* Its version where this process uses UCX, else "". */
static const char* ucx_version(void) {
  const char* (*version)(void) = NULL;
  void* const library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
  void* const symbol = library == NULL ? NULL : dlsym(library, "ucp_get_version_string");
  if (symbol == NULL) return "";
  memcpy(&version, &symbol, sizeof version);
  return version();
}

/* Whether Polypath stands between this process and the driver: by preloading or as a module of
   UCX, either of which is a library that is mapped. */
static int has_polypath(void) {
  static char line[8192];
  int found = 0;
  FILE* const maps = fopen("/proc/self/maps", "r");
  if (maps == NULL) return 0;
  while (!found && fgets(line, sizeof line, maps) != NULL)
    found = strstr(line, "/libpolypath_preload.so") != NULL ||
            strstr(line, "/libuct_polypath.so") != NULL;
  fclose(maps);
  return found;
}

static int count_nodes(void) {
  MPI_Comm node;
  int rank = 0, first, nodes = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank);
  first = rank == 0;
  MPI_Allreduce(&first, &nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_free(&node);
  return nodes;
}

static void print_gpus(const Memory* memory, const int* gpus, int ranks) {
  if (!needs_gpu(memory->kind)) return;
  print_field("gpu", memory->name);
  printf(",\"gpus\":%d,\"cuda\":\"%d.%d\",\"rank_gpus\":[", memory->gpus, memory->driver / 1000,
         memory->driver % 1000 / 10);
  for (int i = 0; i < ranks; ++i) printf(i ? ",%d" : "%d", gpus[i]);
  printf("]");
}

/* "device", or "host,device" where the sides differ. */
static void print_buffers(const Memory* sent_from, const Memory* received_into) {
  const char* const from = memory_name(sent_from->kind);
  const char* const into = memory_name(received_into->kind);
  if (sent_from->kind == received_into->kind) print_field("buffers", from);
  else printf(",\"buffers\":\"%s,%s\"", from, into);
}

static void print_library(void) {
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(library, &length);
  library[strcspn(library, "\n")] = '\0'; /* the first line names it */
  print_field("mpi", library);
  print_field("ucx", ucx_version());
}

void report_start(const Memory* sent_from, const Memory* received_into, bool buffer_per_message) {
  const Memory* const memory = needs_gpu(sent_from->kind) ? sent_from : received_into;
  int rank = 0, ranks = 1, nodes, all_have_it = 0;
  const int mine = has_polypath();
  int* gpus;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  gpus = allocate_host((unsigned long)ranks, sizeof *gpus);
  MPI_Gather(&memory->gpu, 1, MPI_INT, gpus, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Allreduce(&mine, &all_have_it, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  nodes = count_nodes();
  if (rank == 0) {
    printf("{\"event\":\"start\",\"schema\":\"polypath.mpi/1\",\"ranks\":%d,\"nodes\":%d", ranks,
           nodes);
    print_buffers(sent_from, received_into);
    printf(",\"buffer_per_message\":%s", buffer_per_message ? "true" : "false");
    print_gpus(memory, gpus, ranks);
    print_library();
    printf(",\"polypath\":%s}\n", all_have_it ? "true" : "false");
    fflush(stdout);
  }
  free(gpus);
}

static void print_checked(const Checked* checked) {
  if (checked == NULL) {
    printf(",\"compared_bytes\":0,\"wrong_bytes\":0,\"verified\":false");
    return;
  }
  printf(",\"compared_bytes\":%.0f,\"wrong_bytes\":%.0f,\"verified\":%s", checked->compared,
         checked->wrong, checked->wrong > 0 ? "false" : "true");
}

static void print_result(const Operation* operation, const Exchange* exchange, Timing timing,
                         const Checked* checked) {
  const int senders = operation->kind == COLLECTIVE ? 1 : sender_count(operation, exchange->size);
  /* In turn: only one message is on its way at a time. */
  const double messages = (double)senders * exchange->window / (double)operation->messages_in_turn;
  printf("{\"event\":\"result\"");
  print_field("operation", operation->name);
  printf(",\"bytes\":%d,\"window\":%d,\"ranks\":%d,\"senders\":%d,\"iterations\":%d",
         exchange->bytes, exchange->window, exchange->size, senders, timing.iterations);
  printf(",\"seconds\":%.9e,\"bytes_per_second\":%.9e,\"messages_per_second\":%.9e", timing.seconds,
         messages * exchange->bytes / timing.seconds, messages / timing.seconds);
  print_checked(checked);
}

static void end_line(void) {
  printf("}\n");
  fflush(stdout);
}

void report_result(const Operation* operation, const Exchange* exchange, Timing timing,
                   const Checked* checked) {
  print_result(operation, exchange, timing, checked);
  end_line();
}

void report_jacobi(const Operation* operation, const Exchange* exchange, Timing timing,
                   const Checked* checked) {
  const Jacobi* const jacobi = exchange->solver;
  print_result(operation, exchange, timing, checked);
  print_field("kernel", jacobi_kernel_name(jacobi));
  printf(",\"rows\":%zu,\"verified_iterations\":%d", jacobi->rows,
         checked == NULL ? 0 : checked_iterations(jacobi));
  end_line();
}

void report_collective(const Operation* operation, const Exchange* exchange, Timing timing,
                       const Checked* checked) {
  const Collective* const collective = exchange->collective;
  print_result(operation, exchange, timing, checked);
  printf(",\"staged\":%s",
         collective->host_out != NULL || collective->host_in != NULL ? "true" : "false");
  end_line();
}

void report_end(double wrong_bytes) {
  printf("{\"event\":\"end\",\"wrong_bytes\":%.0f}\n", wrong_bytes);
  fflush(stdout);
}
