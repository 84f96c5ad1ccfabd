#pragma once
// The stand-in's functions by their exported names, as any program finds them.

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "standin/abi.h"
#include "support/layers.h"

namespace polypath::test {

/// The library, opened once. Ends the program if it cannot be.
void* standin_library();
/// The other one.
void* standin_nvml();

/// Calls a function. The arguments' types must be the parameters' very own.
template <class... Arguments>
cuda::Result call(void* library, const char* symbol, Arguments... arguments) {
  const auto function = reinterpret_cast<cuda::Result (*)(Arguments...)>(dlsym(library, symbol));
  if (function == nullptr) {
    std::fprintf(stderr, "the stand-in has no %s\n", symbol);
    std::abort();
  }
  return function(arguments...);
}

template <class... Arguments>
cuda::Result cu(const char* symbol, Arguments... arguments) {
  return call(standin_library(), symbol, arguments...);
}

template <class... Arguments>
int nvml(const char* symbol, Arguments... arguments) {
  return call(standin_nvml(), symbol, arguments...);
}

}  // namespace polypath::test
