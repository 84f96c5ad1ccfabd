#include "jacobi_kernel.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failure.h"

/* As src/kernels/jacobi_layout.h and jacobi.cc have it; the kernel takes any number of blocks. */
enum {
  THREADS = 256,           /* of a block */
  COLUMNS_OF_BLOCK = 4096, /* of a row, before the next one */
  MOST_BLOCKS = 4096,
};

enum { STREAM_NON_BLOCKING = 1 /* CU_STREAM_NON_BLOCKING */ };

static void* read_whole(const char* path, FILE* file) {
  long bytes;
  char* content;
  if (fseek(file, 0, SEEK_END) != 0 || (bytes = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0)
    fail("the kernel's image %s cannot be read (%s) Name a file with --image.", path,
         strerror(errno));
  content = allocate_host((unsigned long)bytes + 1, 1); /* PTX is a text: the zero ends it */
  if (fread(content, 1, (size_t)bytes, file) != (size_t)bytes)
    fail("the kernel's image %s cannot be read (it ends early) Name a file with --image.", path);
  return content;
}

static void* read_image(const char* path) {
  FILE* const file = fopen(path, "rb");
  void* content;
  if (file == NULL)
    fail("the kernel's image %s cannot be opened (%s) Name another with --image, or none.", path,
         strerror(errno));
  content = read_whole(path, file);
  fclose(file);
  return content;
}

JacobiKernel load_jacobi_kernel(const char* image) {
  const Cuda* const cuda = open_cuda();
  void* const content = read_image(image);
  JacobiKernel kernel = {NULL, NULL, NULL};
  require_cuda(cuda, cuda->load_module(&kernel.module, content), "cuModuleLoadData");
  require_cuda(cuda, cuda->module_function(&kernel.step, kernel.module, "jacobi"),
               "cuModuleGetFunction");
  require_cuda(cuda, cuda->create_stream(&kernel.stream, STREAM_NON_BLOCKING), "cuStreamCreate");
  free(content);
  return kernel;
}

void unload_jacobi_kernel(JacobiKernel* kernel) {
  const Cuda* const cuda = open_cuda();
  require_cuda(cuda, cuda->destroy_stream(kernel->stream), "cuStreamDestroy");
  require_cuda(cuda, cuda->unload_module(kernel->module), "cuModuleUnload");
}

static unsigned blocks_for(size_t width, size_t rows) {
  const size_t tasks = (width + COLUMNS_OF_BLOCK - 1) / COLUMNS_OF_BLOCK * rows;
  return tasks < MOST_BLOCKS ? (unsigned)tasks : MOST_BLOCKS;
}

void run_jacobi_kernel(const JacobiKernel* kernel, void* to, const void* from, size_t width,
                       size_t rows) {
  const Cuda* const cuda = open_cuda();
  struct {
    uint64_t width, rows;
    CudaAddress to, from;
  } parameters = {width, rows, (CudaAddress)(uintptr_t)to, (CudaAddress)(uintptr_t)from};
  void* list[] = {&parameters};
  require_cuda(cuda,
               cuda->launch(kernel->step, blocks_for(width, rows), 1, 1, THREADS, 1, 1, 0,
                            kernel->stream, list, NULL),
               "cuLaunchKernel");
  require_cuda(cuda, cuda->synchronize_stream(kernel->stream), "cuStreamSynchronize");
}
