/* Memory of GPUs for Fortran. */
#include <stddef.h>

#include "memory.h"

void open_gpu(int gpu) { open_driver(gpu); }

void* gpu_floats(int count) { return allocate(DEVICE, (size_t)count * sizeof(float)).address; }

static struct buffer at(void* address, int count) {
  return (struct buffer){DEVICE, address, (size_t)count * sizeof(float)};
}

void write_floats(void* to, const float* from, int count) {
  write_bytes(at(to, count), 0, (const unsigned char*)from, (size_t)count * sizeof(float));
}

void read_floats(void* from, float* to, int count) {
  read_bytes(at(from, count), 0, (unsigned char*)to, (size_t)count * sizeof(float));
}
