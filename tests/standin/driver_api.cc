#include "standin/driver_api.h"

#include "support/layers.h"

namespace polypath::test {
namespace {

void* open(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  std::fprintf(stderr, "%s\n", dlerror());
  std::exit(2);
}

}  // namespace

void* standin_library() {
  static void* library = open(STANDIN_FOLDER "/libcuda.so.1");
  return library;
}

void* standin_nvml() {
  static void* library = open(STANDIN_FOLDER "/libnvidia-ml.so.1");
  return library;
}

}  // namespace polypath::test
