/* mpi_host_calls [gpu]
   How long MPI_Allreduce takes on memory of the host, by size: what a layer before MPI costs calls
   that are not its own. With "gpu" each rank has a context of the first GPU. Rank 0 prints
   "BYTES:MICROSECONDS" for each size.

     mpicc -O2 mpi_host_calls.c -o mpi_host_calls -ldl
     mpirun -n 2 ./mpi_host_calls gpu
     polypath run -- mpirun -n 2 ./mpi_host_calls gpu */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 65536, FEW = 3000, MANY = 30000, LARGE = 5000, WARM_UP = 10 };

static float given[MOST], taken[MOST];

static void call(void* library, const char* name, void* function) {
  void* const found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "the CUDA driver has no %s\n", name);
    exit(1);
  }
  memcpy(function, &found, sizeof found);
}

static void take_context(void) {
  int (*init)(unsigned), (*retain)(void**, int), (*set)(void*);
  void* context = NULL;
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  call(library, "cuInit", &init);
  call(library, "cuDevicePrimaryCtxRetain", &retain);
  call(library, "cuCtxSetCurrent", &set);
  if (init(0) != 0 || retain(&context, 0) != 0 || set(context) != 0) exit(1);
}

static double seconds(int count, int calls) {
  const double begin = MPI_Wtime();
  for (int i = 0; i < calls; ++i)
    MPI_Allreduce(given, taken, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  return MPI_Wtime() - begin;
}

int main(int count, char** arguments) {
  static const int counts[] = {2, 256, 4096, MOST};
  int rank = 0;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (count > 1 && strcmp(arguments[1], "gpu") == 0) take_context();
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
    const int calls = counts[i] > LARGE ? FEW : MANY;
    seconds(counts[i], calls / WARM_UP);
    const double each = seconds(counts[i], calls) / calls;
    if (rank == 0) printf("%zu:%.3f ", counts[i] * sizeof(float), 1e6 * each);
  }
  if (rank == 0) printf("\n");
  MPI_Finalize();
  return 0;
}
