/* Four ranks, threads here, add what they have: on this computer's GPUs, or on a simulated machine.
 */
#include <polypath.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define RANKS 4
#define COUNT (1u << 20)

static polypath_context* machine;
static char folder[] = "/tmp/polypath-allreduce-XXXXXX"; /* where the ranks find one another */

#define TRY(call)                 \
  if ((call) != POLYPATH_SUCCESS) \
  return printf("rank %d: %s\n", rank, polypath_last_error()), "failed"

static void* run(void* number) {
  const int rank = *(const int*)number;
  polypath_communicator* ranks;
  polypath_stream stream;
  void* memory;
  char gpu[8];

  snprintf(gpu, sizeof gpu, "gpu%d", rank);
  TRY(polypath_communicator_join(machine, gpu, rank, RANKS, folder, &ranks));
  TRY(polypath_allocate(machine, gpu, COUNT * sizeof(float), &memory));
  TRY(polypath_stream_create(machine, gpu, &stream));
  float* values = memory; /* simulated memory can be read and written by the CPU */
  for (size_t i = 0; i < COUNT; ++i) values[i] = (float)(rank + 1);

  TRY(polypath_allreduce(ranks, values, values, COUNT, POLYPATH_FLOAT32, POLYPATH_SUM, stream));
  TRY(polypath_communicator_synchronize(ranks));

  for (size_t i = 0; i < COUNT; ++i)
    if (values[i] != 10) return printf("rank %d: value %zu is %g\n", rank, i, values[i]), "wrong";
  TRY(polypath_communicator_destroy(ranks));
  return NULL;
}

int main(void) {
  pthread_t threads[RANKS];
  int numbers[RANKS], failures = 0;
  double seconds;

  if (!mkdtemp(folder) || polypath_context_create("h200x4", &machine) != POLYPATH_SUCCESS)
    return printf("%s\n", polypath_last_error()), 1;
  for (int rank = 0; rank < RANKS; ++rank) {
    numbers[rank] = rank;
    pthread_create(&threads[rank], NULL, run, &numbers[rank]);
  }
  for (int rank = 0; rank < RANKS; ++rank) {
    void* problem;
    pthread_join(threads[rank], &problem);
    failures += problem != NULL;
  }
  if (!failures && polypath_now(machine, &seconds) == POLYPATH_SUCCESS)
    printf("%u sums are right after %.0f us\n", COUNT, 1e6 * seconds);
  polypath_context_destroy(machine);
  return failures != 0;
}
