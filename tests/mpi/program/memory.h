/* Buffers of any kind of memory, through the CUDA driver, which is opened at run time. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stddef.h>

enum kind { DEVICE, HOST, MANAGED };

struct buffer {
  enum kind kind;
  unsigned char* address; /* not to be touched if it is a GPU's */
  size_t size;
};

/* Opens the driver and makes the GPU's context current; its number counts the visible ones. */
void open_driver(int gpu);
int count_gpus(void);

struct buffer allocate(enum kind kind, size_t size);
void release(struct buffer* buffer);

/* Complete when they return. */
void write_bytes(struct buffer buffer, size_t offset, const unsigned char* bytes, size_t size);
void read_bytes(struct buffer buffer, size_t offset, unsigned char* bytes, size_t size);

#endif
