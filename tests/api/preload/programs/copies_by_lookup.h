#pragma once
// Copies by functions that the program looks up.

#include <dlfcn.h>

#include "copies_in_streams.h"

namespace program {

using Copy = CUresult (*)(CUdeviceptr, CUdeviceptr, std::size_t, CUstream);

inline void copy_with(Copy copy) {
  EXPECT(copy != nullptr);
  between_gpus([&](auto to, auto from, auto s) { CHECK(copy(to, from, kBytes, s)); }, stream_on(0));
}

inline void by_dlsym() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY);
  copy_with(reinterpret_cast<Copy>(dlsym(driver, "cuMemcpyDtoDAsync_v2")));
}

// As the CUDA runtime does.
inline void by_request() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY);
  auto request =
      reinterpret_cast<decltype(&cuGetProcAddress_v2)>(dlsym(driver, "cuGetProcAddress_v2"));
  void* again = nullptr;
  void* copy = nullptr;
  int status = 0;
  CHECK(request("cuGetProcAddress", &again, 12000, 0, &status));
  CHECK(reinterpret_cast<decltype(request)>(again)("cuMemcpyDtoDAsync", &copy, 3020, 0, &status));
  copy_with(reinterpret_cast<Copy>(copy));
}

// dlsym goes on to find for everybody what it found before.
inline void other_lookups() {
  EXPECT(dlsym(RTLD_DEFAULT, "malloc") != nullptr);
  EXPECT(dlsym(RTLD_DEFAULT, "no_such_function_anywhere") == nullptr);
  EXPECT(dlerror() != nullptr);
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY);
  EXPECT(dlsym(driver, "cuMemAlloc_v2") != nullptr);
  EXPECT(dlsym(driver, "cuNoSuchFunction") == nullptr);
  // What comes after the program is what it uses itself: nobody in between may be taken for it.
  EXPECT(dlsym(RTLD_NEXT, "dlsym") == reinterpret_cast<void*>(&dlsym));
}

}  // namespace program
