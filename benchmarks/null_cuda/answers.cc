// As many GPUs as the largest of the machines has, with one context for all, which is current.

#include "driver/cuda/cuda_api.h"

#define POLYPATH_ANSWER extern "C" [[gnu::visibility("default")]] polypath::cuda::Result

namespace polypath::cuda {
namespace {

int something = 0;  // that pointers may point to

template <class Pointer>
Result answer(Pointer* asked) {
  *asked = reinterpret_cast<Pointer>(&something);
  return kSuccess;
}

Result answer(int* asked, int number) {
  *asked = number;
  return kSuccess;
}

}  // namespace

POLYPATH_ANSWER cuDriverGetVersion(int* version) { return answer(version, 13000); }
POLYPATH_ANSWER cuDeviceGetCount(int* count) { return answer(count, 8); }
POLYPATH_ANSWER cuDeviceCanAccessPeer(int* possible, Device, Device) { return answer(possible, 1); }
POLYPATH_ANSWER cuDevicePrimaryCtxGetState(Device, unsigned*, int* active) {
  return answer(active, 1);
}
POLYPATH_ANSWER cuDevicePrimaryCtxRetain(ContextPointer* context, Device) {
  return answer(context);
}
POLYPATH_ANSWER cuCtxGetCurrent(ContextPointer* context) { return answer(context); }
POLYPATH_ANSWER cuStreamCreate(StreamPointer* stream, unsigned) { return answer(stream); }
POLYPATH_ANSWER cuEventCreate(EventPointer* event, unsigned) { return answer(event); }
POLYPATH_ANSWER cuModuleLoadData(ModulePointer* module, const void*) { return answer(module); }
POLYPATH_ANSWER cuModuleGetFunction(FunctionPointer* function, ModulePointer, const char*) {
  return answer(function);
}

}  // namespace polypath::cuda
