#pragma once
// The functions of the CUDA driver that the stand-in NCCL calls.

#include <cstddef>

extern "C" {
int cuInit(unsigned flags);
int cuCtxGetDevice(int* device);
int cuCtxGetCurrent(void** context);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuCtxPushCurrent_v2(void* context);
int cuCtxPopCurrent_v2(void** context);
int cuStreamCreate(void** stream, unsigned flags);
int cuStreamIsCapturing(void* stream, int* status);
int cuStreamDestroy_v2(void* stream);
int cuStreamQuery(void* stream);
int cuStreamWaitEvent(void* stream, void* event, unsigned flags);
int cuModuleLoadData(void** module, const void* image);
int cuModuleGetFunction(void** function, void* module, const char* name);
int cuLaunchKernel(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   unsigned, void* stream, void** parameters, void** extra);
int cuEventCreate(void** event, unsigned flags);
int cuEventDestroy_v2(void* event);
int cuEventQuery(void* event);
int cuEventRecord(void* event, void* stream);
int cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned flags);
int cuMemHostUnregister(void* memory);
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t bytes, void* stream);
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes, void* stream);
int cuLaunchHostFunc(void* stream, void (*function)(void*), void* data);
int cuStreamWaitValue32_v2(void* stream, unsigned long long address, unsigned value,
                           unsigned flags);
int cuStreamWriteValue32_v2(void* stream, unsigned long long address, unsigned value,
                            unsigned flags);
}
