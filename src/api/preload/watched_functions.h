#pragma once
// The driver's functions that put something into a stream which may wait for the program itself, in
// one list: a kernel that looks at memory, a function of the program, an event of another stream, a
// value that has to be written. Other work in a stream ends by itself.

// X(exported symbol, name to ask cuGetProcAddress for, CUDA version that brought this form of it,
//   1 if its default stream is the thread's own, parameters, their names, the stream)
#define POLYPATH_WATCHED_BOTH(X, symbol, own, name, since, parameters, names, stream) \
  X(symbol, name, since, 0, parameters, names, stream)                                \
  X(symbol##own, name, since, 1, parameters, names, stream)

#define POLYPATH_WATCHED_FUNCTIONS(X)                                                             \
  POLYPATH_WATCHED_BOTH(                                                                          \
      X, cuLaunchKernel, _ptsz, "cuLaunchKernel", 4000,                                           \
      (void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,           \
       unsigned bz, unsigned shared, StreamPointer stream, void** arguments, void** extra),       \
      (function, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra), stream)               \
  POLYPATH_WATCHED_BOTH(                                                                          \
      X, cuLaunchKernelEx, _ptsz, "cuLaunchKernelEx", 11060,                                      \
      (const LaunchConfig* config, void* function, void** arguments, void** extra),               \
      (config, function, arguments, extra), config == nullptr ? nullptr : config->stream)         \
  POLYPATH_WATCHED_BOTH(                                                                          \
      X, cuLaunchCooperativeKernel, _ptsz, "cuLaunchCooperativeKernel", 9000,                     \
      (void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,           \
       unsigned bz, unsigned shared, StreamPointer stream, void** arguments),                     \
      (function, gx, gy, gz, bx, by, bz, shared, stream, arguments), stream)                      \
  POLYPATH_WATCHED_BOTH(X, cuLaunchHostFunc, _ptsz, "cuLaunchHostFunc", 10000,                    \
                        (StreamPointer stream, void* function, void* data),                       \
                        (stream, function, data), stream)                                         \
  POLYPATH_WATCHED_BOTH(X, cuStreamAddCallback, _ptsz, "cuStreamAddCallback", 5000,               \
                        (StreamPointer stream, void* callback, void* data, unsigned flags),       \
                        (stream, callback, data, flags), stream)                                  \
  POLYPATH_WATCHED_BOTH(X, cuStreamWaitEvent, _ptsz, "cuStreamWaitEvent", 3020,                   \
                        (StreamPointer stream, void* event, unsigned flags),                      \
                        (stream, event, flags), stream)                                           \
  POLYPATH_WATCHED_BOTH(                                                                          \
      X, cuStreamWaitValue32, _ptsz, "cuStreamWaitValue32", 8000,                                 \
      (StreamPointer stream, DevicePointer address, std::uint32_t value, unsigned flags),         \
      (stream, address, value, flags), stream)                                                    \
  POLYPATH_WATCHED_BOTH(                                                                          \
      X, cuStreamWaitValue32_v2, _ptsz, "cuStreamWaitValue32", 11070,                             \
      (StreamPointer stream, DevicePointer address, std::uint32_t value, unsigned flags),         \
      (stream, address, value, flags), stream)                                                    \
  POLYPATH_WATCHED_BOTH(                                                                          \
      X, cuStreamWaitValue64, _ptsz, "cuStreamWaitValue64", 9000,                                 \
      (StreamPointer stream, DevicePointer address, std::uint64_t value, unsigned flags),         \
      (stream, address, value, flags), stream)                                                    \
  POLYPATH_WATCHED_BOTH(                                                                          \
      X, cuStreamWaitValue64_v2, _ptsz, "cuStreamWaitValue64", 11070,                             \
      (StreamPointer stream, DevicePointer address, std::uint64_t value, unsigned flags),         \
      (stream, address, value, flags), stream)                                                    \
  POLYPATH_WATCHED_BOTH(X, cuStreamBatchMemOp, _ptsz, "cuStreamBatchMemOp", 8000,                 \
                        (StreamPointer stream, unsigned count, void* operations, unsigned flags), \
                        (stream, count, operations, flags), stream)                               \
  POLYPATH_WATCHED_BOTH(X, cuStreamBatchMemOp_v2, _ptsz, "cuStreamBatchMemOp", 11070,             \
                        (StreamPointer stream, unsigned count, void* operations, unsigned flags), \
                        (stream, count, operations, flags), stream)                               \
  POLYPATH_WATCHED_BOTH(X, cuGraphLaunch, _ptsz, "cuGraphLaunch", 10000,                          \
                        (void* graph, StreamPointer stream), (graph, stream), stream)             \
  POLYPATH_WATCHED_BOTH(                                                                          \
      X, cuWaitExternalSemaphoresAsync, _ptsz, "cuWaitExternalSemaphoresAsync", 10000,            \
      (const void* semaphores, const void* parameters, unsigned count, StreamPointer stream),     \
      (semaphores, parameters, count, stream), stream)
