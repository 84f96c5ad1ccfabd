/* Copies 256 MiB from GPU 0 to GPU 1, in order with the other work of a CUDA stream. */
#include <cuda.h>
#include <polypath.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY(call) \
  if ((call) != 0) return printf("line %d: %s\n", __LINE__, polypath_last_error()), 1

int main(void) {
  const size_t bytes = 256u << 20;
  CUcontext contexts[2];
  CUdeviceptr memory[2];
  CUstream stream;
  polypath_context* machine;

  TRY(cuInit(0));
  for (int gpu = 0; gpu < 2; ++gpu) {
    TRY(cuDevicePrimaryCtxRetain(&contexts[gpu], gpu));
    TRY(cuCtxSetCurrent(contexts[gpu]));
    TRY(cuMemAlloc(&memory[gpu], bytes));
  }
  TRY(cuCtxSetCurrent(contexts[0]));
  TRY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  TRY(polypath_context_create(NULL, &machine));

  TRY(cuMemsetD8Async(memory[0], 42, bytes, stream)); /* the copy starts after it, ... */
  TRY(polypath_copy_on(machine, (void*)memory[1], (void*)memory[0], bytes, stream));
  TRY(cuMemsetD8Async(memory[0], 0, bytes, stream)); /* ... and this starts after the copy */
  TRY(cuStreamSynchronize(stream));

  unsigned char* copied = malloc(bytes);
  TRY(cuMemcpyDtoH(copied, memory[1], bytes));
  for (size_t i = 0; i < bytes; ++i)
    if (copied[i] != 42) return printf("byte %zu is wrong\n", i), 1;
  printf("%zu bytes are right\n", bytes);
  return polypath_context_destroy(machine);
}
