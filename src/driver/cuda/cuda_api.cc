#include "driver/cuda/cuda_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/error.h"

namespace polypath::cuda {
namespace {

constexpr int kOldestDriver = 11080;

std::string describe_version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

using Lookup = void* (*)(void*, const char*);

// In a program that runs under libpolypath_preload.so, dlsym answers with what that library puts
// before the driver. It is meant for the program: our own copies must not come back to a planner.
Lookup driver_lookup() {
  void* preloaded = dlsym(RTLD_DEFAULT, "polypath_real_dlsym");
  return preloaded == nullptr ? static_cast<Lookup>(dlsym) : reinterpret_cast<Lookup>(preloaded);
}

// The exported name, or null.
template <class Function>
void resolve(Lookup lookup, void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(lookup(library, symbol));
}

}  // namespace

DriverLibrary::DriverLibrary() { problem = open(); }  // after the defaults of all members

const DriverLibrary& DriverLibrary::get() {
  static const DriverLibrary* library =
      new DriverLibrary;  // outlives every static object that may use it
  return *library;
}

std::string DriverLibrary::open() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return "there is no NVIDIA driver (libcuda.so.1 is not found)";
  const Lookup lookup = driver_lookup();
  std::string missing;
#define POLYPATH_RESOLVE(member, symbol, introduced, parameters)                                \
  resolve(lookup, library, #symbol, functions.member); /* NOLINT(bugprone-macro-parentheses) */ \
  if (functions.member == nullptr && (introduced) <= kOldestDriver) missing = #symbol;
  POLYPATH_CUDA_FUNCTIONS(POLYPATH_RESOLVE)
#undef POLYPATH_RESOLVE
  if (!missing.empty()) return fmt::format("the NVIDIA driver is too old: it has no {}", missing);
  if (const Result result = functions.init(0); result != kSuccess)
    return result == 100 ? "the NVIDIA driver sees no GPU"
                         : fmt::format("the NVIDIA driver does not start (error {})", result);
  functions.driver_version(&version);
  if (version < kOldestDriver)
    return fmt::format("the NVIDIA driver is too old: it brings CUDA {}, 11.8 is needed",
                       describe_version(version));
  functions.device_count(&gpus);
  return gpus > 0 ? "" : "the NVIDIA driver sees no GPU";
}

void check(Result result, const char* call) {
  if (result == kSuccess) return;
  const Functions& cuda = DriverLibrary::get().functions;
  // Of a number that it does not know, the driver says neither.
  const char* name = nullptr;
  const char* why = nullptr;
  cuda.error_name(result, &name);
  cuda.error_string(result, &why);
  const std::string what = name == nullptr ? fmt::format("error {}", result) : name;
  const ErrorCode code = result == kOutOfMemory    ? ErrorCode::out_of_memory
                         : result == kInvalidValue ? ErrorCode::invalid_argument
                                                   : ErrorCode::driver;
  fail(code, fmt::format("{} failed with {}", call, what), why == nullptr ? "" : why);
}

}  // namespace polypath::cuda
