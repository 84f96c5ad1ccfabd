// Every function that Polypath looks up, as one that succeeds and does nothing. Weak: those of
// driver.cc take their place.

#include "driver/cuda/cuda_api.h"

using namespace polypath::cuda;

#define POLYPATH_DEFAULT(member, symbol, version, parameters)                       \
  extern "C" __attribute__((weak, visibility("default"))) Result symbol parameters; \
  extern "C" Result symbol parameters { return kSuccess; }
POLYPATH_CUDA_FUNCTIONS(POLYPATH_DEFAULT)
#undef POLYPATH_DEFAULT
