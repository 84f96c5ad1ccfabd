#define _POSIX_C_SOURCE 200809L
#include "options.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective.h"
#include "failure.h"
#include "jacobi.h"

static const double LEAST_SECONDS = 1e-9;
static const double USUAL_WARM_UP_SECONDS = 0.5;

static const char kHelp[] =
    "Usage: mpirun -n RANKS " PROGRAM_NAME
    " [OPTION VALUE]...\n\n"
    "Measures MPI messages and checks every byte; one JSON object per line on stdout.\n\n"
    "  --operations LIST  of those below; default latency,bw,bibw\n"
    "  --sizes LIST       bytes; K, M and G are powers of 1024, FIRST:LAST doubles FIRST up to\n"
    "                     LAST; default 64K:64M\n"
    "  --window LIST      messages in flight, 1 to 1024; default 1,4,16\n"
    "  --buffers KINDS    the memory that messages are sent from and received into: device, host\n"
    "                     (pageable), pinned or managed; FROM,INTO or one for both; default "
    "device\n"
    "  --buffer-per-message\n"
    "                     a buffer for each message of a window; else all lie in one, as in the\n"
    "                     OSU micro-benchmarks\n"
    "  --rows N           of each rank of jacobi, 1 to 1024; default 8\n"
    "  --image FILE       the kernel of jacobi, for GPUs; without it the host computes\n"
    "  --iterations N     default: by size as in the OSU micro-benchmarks, at most --seconds\n"
    "  --warm-up N        untimed iterations before; default: by size\n"
    "  --warm-up-seconds S\n"
    "                     untimed exchanges of the largest size before an operation, for what\n"
    "                     libraries make once; default 0.5, or 0 with numbers of iterations\n"
    "  --seconds S        how long one measurement may take, warm-up not counted; default 1\n"
    "  --no-check         does not compare bytes\n"
    "  --staged           collectives of memory of GPUs go by copies in pinned memory of the\n"
    "                     program, unless MPI says that it takes such memory\n\n";

static void print_help(void) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    fputs(kHelp, stdout);
    for (int i = 0; i < operation_count; ++i)
      printf("  %-14s %s\n", operations[i].name, operations[i].meaning);
  }
  MPI_Finalize();
  exit(STATUS_DONE);
}

static void refuse_value(const char* what, const char* text, const char* why) {
  refuse("%s '%s' cannot be used (%s) '--help' lists what there is.", what, text, why);
}

/* A number with an optional K, M or G. */
static double number(const char* what, const char* text, char** rest) {
  double value = strtod(text, rest);
  if (*rest == text) refuse_value(what, text, "it is no number");
  if (**rest == 'K') value *= 1024.0, ++*rest;
  else if (**rest == 'M') value *= 1048576.0, ++*rest;
  else if (**rest == 'G') value *= 1073741824.0, ++*rest;
  return value;
}

static int whole(const char* what, const char* text, char** rest, int least, int most) {
  const double value = number(what, text, rest);
  char why[96];
  if (value >= least && value <= most && value == (double)(int)value) return (int)value;
  snprintf(why, sizeof why, "it must be a whole number from %d to %d", least, most);
  refuse_value(what, text, why);
  return 0;
}

static int single(const char* what, const char* text, int least, int most) {
  char* rest;
  const int value = whole(what, text, &rest, least, most);
  if (*rest != '\0') refuse_value(what, text, "something follows the number");
  return value;
}

static void append(const char* what, int* values, int* count, int value) {
  if (*count == MOST_VALUES) refuse_value(what, "...", "there are too many");
  values[(*count)++] = value;
}

static void read_range(const char* what, const char* item, int most, int* values, int* count) {
  char* rest;
  const int first = whole(what, item, &rest, 1, most);
  int last = first;
  if (*rest == ':') last = whole(what, rest + 1, &rest, first, most);
  if (*rest != '\0') refuse_value(what, item, "something follows the number");
  for (long value = first; value <= last; value *= 2) append(what, values, count, (int)value);
}

/* Calls `read` for each part between commas; changes the text. */
#define FOR_EACH_ITEM(item, text)                                       \
  for (char *state_ = NULL, *item = strtok_r(text, ",", &state_); item; \
       item = strtok_r(NULL, ",", &state_))

static void read_sizes(Options* options, char* text) {
  options->size_count = 0;
  FOR_EACH_ITEM(item, text)
  read_range("size", item, INT_MAX, options->sizes, &options->size_count);
  if (options->size_count == 0) refuse_value("sizes", text, "there is none");
}

static void read_windows(Options* options, char* text) {
  options->window_count = 0;
  FOR_EACH_ITEM(item, text)
  read_range("window", item, MOST_WINDOW, options->windows, &options->window_count);
  if (options->window_count == 0) refuse_value("window", text, "there is none");
}

static void check_ranks(const Operation* operation, int ranks) {
  if (ranks < 2)
    refuse("%s needs 2 ranks or more (there is %d) Start it with mpirun -n 2.", operation->name,
           ranks);
  if (operation->even_ranks && ranks % 2 != 0)
    refuse("%s needs an even number of ranks (there are %d) Start one more or one less.",
           operation->name, ranks);
}

static void read_operations(Options* options, char* text, int ranks) {
  options->operation_count = 0;
  FOR_EACH_ITEM(item, text) {
    const Operation* operation = find_operation(item);
    if (operation == NULL) refuse_value("operation", item, "there is none of this name");
    if (options->operation_count == MOST_VALUES)
      refuse_value("operation", item, "there are too many");
    check_ranks(operation, ranks);
    options->operations[options->operation_count++] = operation;
  }
  if (options->operation_count == 0) refuse_value("operations", text, "there is none");
}

static MemoryKind read_memory(const char* text) {
  for (int kind = 0; kind < MEMORY_KINDS; ++kind)
    if (strcmp(memory_name((MemoryKind)kind), text) == 0) return (MemoryKind)kind;
  refuse_value("buffers", text, "the kinds are device, host, pinned and managed");
  return MEMORY_HOST;
}

/* FROM,INTO or one kind for both; changes the text. */
static void read_buffers(Options* options, char* text) {
  char* const comma = strchr(text, ',');
  if (comma != NULL) *comma = '\0';
  options->sent_from = read_memory(text);
  options->received_into = comma == NULL ? options->sent_from : read_memory(comma + 1);
}

static double read_seconds(const char* text, double least) {
  char* rest;
  const double seconds = strtod(text, &rest);
  if (rest == text || *rest != '\0' || !(seconds >= least && seconds <= 3600))
    refuse_value("seconds", text,
                 least > 0 ? "it must be a number above 0, up to 3600"
                           : "it must be a number from 0 to 3600");
  return seconds;
}

static void read_option(Options* options, const char* name, char* value, int ranks) {
  if (strcmp(name, "--operations") == 0) read_operations(options, value, ranks);
  else if (strcmp(name, "--sizes") == 0) read_sizes(options, value);
  else if (strcmp(name, "--window") == 0) read_windows(options, value);
  else if (strcmp(name, "--buffers") == 0) read_buffers(options, value);
  else if (strcmp(name, "--iterations") == 0)
    options->effort.iterations = single("iterations", value, 1, 100000000);
  else if (strcmp(name, "--warm-up") == 0)
    options->effort.warm_up = single("warm-up", value, 0, 100000000);
  else if (strcmp(name, "--rows") == 0) options->rows = single("rows", value, 1, MOST_ROWS);
  else if (strcmp(name, "--image") == 0) options->image = value;
  else if (strcmp(name, "--seconds") == 0)
    options->effort.seconds = read_seconds(value, LEAST_SECONDS);
  else if (strcmp(name, "--warm-up-seconds") == 0)
    options->effort.warm_up_seconds = read_seconds(value, 0);
  else refuse_value("option", name, "there is none of this name");
}

static Options defaults(int ranks) {
  Options options = {
      .sent_from = MEMORY_DEVICE,
      .received_into = MEMORY_DEVICE,
      .check = true,
      .rows = 8,
      .effort = {.warm_up = -1, .iterations = -1, .seconds = 1, .warm_up_seconds = -1}};
  char operations_text[] = "latency,bw,bibw", sizes[] = "64K:64M", windows[] = "1,4,16";
  read_operations(&options, operations_text, ranks);
  read_sizes(&options, sizes);
  read_windows(&options, windows);
  return options;
}

/* Halos are parts of the grid, which lies in one memory, and rows begin at words of 16 bytes. */
static void check_solver(const Options* options) {
  bool solves = false;
  for (int i = 0; i < options->operation_count; ++i)
    solves |= options->operations[i]->kind == SOLVER;
  if (!solves) return;
  if (options->sent_from != options->received_into)
    refuse("jacobi cannot have buffers of two kinds (its halos lie in one grid) Name one kind.");
  for (int i = 0; i < options->size_count; ++i)
    if (options->sizes[i] % HALO_STEP != 0)
      refuse("jacobi cannot have halos of %d bytes (rows are whole words of %d bytes) Round it.",
             options->sizes[i], HALO_STEP);
}

static void check_collectives(const Options* options) {
  for (int i = 0; i < options->operation_count; ++i) {
    const CollectiveKind* const kind = find_collective(options->operations[i]->name);
    if (kind == NULL || !kind->reduces) continue;
    for (int j = 0; j < options->size_count; ++j)
      if (options->sizes[j] % ELEMENT_BYTES != 0)
        refuse("%s cannot have %d bytes (it adds whole float32 of %d bytes) Round it.", kind->name,
               options->sizes[j], ELEMENT_BYTES);
  }
}

/* With a given number of warm-ups or iterations there is no timed warm-up. */
static void complete(Effort* effort) {
  if (effort->warm_up_seconds >= 0) return;
  effort->warm_up_seconds =
      effort->warm_up < 0 && effort->iterations < 0 ? USUAL_WARM_UP_SECONDS : 0;
}

Options read_options(int count, char** arguments, int ranks) {
  Options options;
  for (int i = 1; i < count; ++i)
    if (strcmp(arguments[i], "--help") == 0 || strcmp(arguments[i], "-h") == 0) print_help();
  options = defaults(ranks);
  for (int i = 1; i < count; ++i) {
    const char* name = arguments[i];
    if (strcmp(name, "--no-check") == 0) {
      options.check = false;
    } else if (strcmp(name, "--buffer-per-message") == 0) {
      options.buffer_per_message = true;
    } else if (strcmp(name, "--staged") == 0) {
      options.staged = true;
    } else {
      if (i + 1 == count) refuse_value("option", name, "no value follows");
      read_option(&options, name, arguments[++i], ranks);
    }
  }
  complete(&options.effort);
  check_solver(&options);
  check_collectives(&options);
  return options;
}

static int largest(const int* values, int count) {
  int result = values[0];
  for (int i = 1; i < count; ++i)
    if (values[i] > result) result = values[i];
  return result;
}

int largest_size(const Options* options) { return largest(options->sizes, options->size_count); }

int largest_window(const Options* options) {
  return largest(options->windows, options->window_count);
}
