/* A Jacobi step on this rank's GPU, by the kernel that Polypath's library has
   (src/kernels/jacobi.cu). */
#ifndef POLYPATH_MPI_BENCH_JACOBI_KERNEL_H
#define POLYPATH_MPI_BENCH_JACOBI_KERNEL_H

#include <stddef.h>

#include "cuda.h"

typedef struct {
  CudaModule module;
  CudaFunction step;
  CudaStream stream;
} JacobiKernel;

/* The kernel of this image file (a fatbin, cubin or PTX), for the current context. Fails with a
   message where the file cannot be read, or has nothing for this GPU. */
JacobiKernel load_jacobi_kernel(const char* image);

void unload_jacobi_kernel(JacobiKernel* kernel);

/* Makes `rows` rows of `width` floats at `to` of those at `from`, where the row above the first one
   begins; all is there on return. The width is a multiple of 4, and both begin at multiples of 16
   bytes. */
void run_jacobi_kernel(const JacobiKernel* kernel, void* to, const void* from, size_t width,
                       size_t rows);

#endif
