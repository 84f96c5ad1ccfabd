/* What stands for UCX's CUDA module: it makes the calls of the driver that UCX makes. */
#include <stddef.h>

typedef unsigned long long Address;
typedef struct Stream* Stream;
typedef struct {
  char bytes[64];
} Handle;

int cuStreamCreate(Stream*, unsigned);
int cuStreamDestroy_v2(Stream);
int cuStreamSynchronize(Stream);
int cuMemcpyDtoDAsync_v2(Address, Address, size_t, Stream);
int cuIpcGetMemHandle(Handle*, Address);
int cuIpcOpenMemHandle_v2(Address*, Handle, unsigned);
int cuIpcCloseMemHandle(Address);

int uct_stream_create(Stream* stream) { return cuStreamCreate(stream, 1); }
int uct_stream_destroy(Stream stream) { return cuStreamDestroy_v2(stream); }
int uct_copy(Address to, Address from, size_t bytes, Stream stream) {
  return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
}
int uct_wait(Stream stream) { return cuStreamSynchronize(stream); }
int uct_export(Handle* handle, Address memory) { return cuIpcGetMemHandle(handle, memory); }
int uct_map(Address* mapped, Handle handle) { return cuIpcOpenMemHandle_v2(mapped, handle, 1); }
int uct_unmap(Address mapped) { return cuIpcCloseMemHandle(mapped); }
