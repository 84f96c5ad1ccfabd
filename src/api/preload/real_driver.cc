#include "api/preload/real_driver.h"

#include <dlfcn.h>
#include <pthread.h>

#include <array>
#include <atomic>

#include "api/preload/program_copy.h"
#include "api/preload/shared_counts.h"

namespace polypath::preload {
namespace {

// Stands for a missing function: returns an error, so there is never a null call.
template <class Function>
struct Unavailable;
template <class... Parameters>
struct Unavailable<Result (*)(Parameters...)> {
  static Result call(Parameters...) { return cuda::kNotSupported; }
  static Result too_early(Parameters...) { return cuda::kNotInitialized; }
};

template <class Function>
void set_too_early(Function& function) {
  function = &Unavailable<Function>::too_early;
}

template <class Function>
void find(void* driver, const char* symbol, Function& function) {
  void* found = system_lookup()(driver, symbol);
  function = found == nullptr ? &Unavailable<Function>::call : reinterpret_cast<Function>(found);
}

RealFunctions none() {
  RealFunctions functions;
#define POLYPATH_NONE(symbol, name, since, own_stream, parameters, ...) \
  set_too_early(functions.symbol);
  POLYPATH_INTERPOSED_FUNCTIONS(POLYPATH_NONE)
#undef POLYPATH_NONE
  return functions;
}

// RTLD_NEXT would look behind this library only, where a program that opened libcuda at run time
// has none.
void* driver_library() {
  static std::atomic<void*> library{nullptr};
  void* opened = library.load(std::memory_order_acquire);
  if (opened != nullptr) return opened;
  opened = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
  library.store(opened, std::memory_order_release);
  return opened;
}

RealFunctions driver_functions;
std::atomic<bool> is_found{false};
pthread_once_t finding = PTHREAD_ONCE_INIT;

void find_all() {
  void* driver = driver_library();
#define POLYPATH_FIND(symbol, name, since, own_stream, parameters, ...) \
  find(driver, #symbol, driver_functions.symbol); /* NOLINT(bugprone-macro-parentheses) */
  POLYPATH_INTERPOSED_FUNCTIONS(POLYPATH_FIND)
#undef POLYPATH_FIND
  SharedCounts::of_process().note_driver();
  is_found.store(true, std::memory_order_release);
}

}  // namespace

const RealFunctions& real() {
  if (is_found.load(std::memory_order_acquire)) return driver_functions;
  if (driver_library() == nullptr) {
    static const RealFunctions too_early = none();
    return too_early;
  }
  pthread_once(&finding, find_all);
  return driver_functions;
}

void* real_symbol(const char* name) {
  void* driver = driver_library();
  return driver == nullptr ? nullptr : system_lookup()(driver, name);
}

bool driver_lacks(const char* name) {
  return driver_library() != nullptr && real_symbol(name) == nullptr;
}

namespace {

using AskPointer = Result (*)(unsigned, int*, void**, DevicePointer);

// libcuda may come into the process later than the first question.
AskPointer ask_pointer() {
  static std::atomic<AskPointer> known{nullptr};
  AskPointer ask = known.load(std::memory_order_relaxed);
  if (ask == nullptr)
    known = ask = reinterpret_cast<AskPointer>(real_symbol("cuPointerGetAttributes"));
  return ask;
}

template <class... Parameters>
auto find_symbol(const char* name) {
  return reinterpret_cast<Result (*)(Parameters...)>(real_symbol(name));
}

}  // namespace

bool is_pageable(Address address) {
  const AskPointer ask = ask_pointer();
  int which = cuda::kPointerMemoryType;
  unsigned type = 0;
  void* answer = &type;
  return ask != nullptr && ask(1, &which, &answer, address.value) == cuda::kSuccess && type == 0;
}

std::optional<int> gpu_of_memory(const void* memory) {
  const AskPointer ask = ask_pointer();
  if (ask == nullptr) return std::nullopt;
  std::array which{cuda::kPointerMemoryType, cuda::kPointerDeviceOrdinal};
  unsigned type = 0;
  int gpu = -1;
  std::array<void*, 2> answers{&type, &gpu};
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  constexpr unsigned kDevice = 2;  // CU_MEMORYTYPE_DEVICE
  const bool is_known = ask(which.size(), which.data(), answers.data(), address) == cuda::kSuccess;
  return is_known && type == kDevice && gpu >= 0 ? std::optional(gpu) : std::nullopt;
}

std::optional<StreamHome> home_of(cuda::StreamPointer stream) {
  const auto current = find_symbol<cuda::ContextPointer*>("cuCtxGetCurrent");
  const auto device = find_symbol<cuda::Device*>("cuCtxGetDevice");
  const auto of = find_symbol<cuda::StreamPointer, cuda::ContextPointer*>("cuStreamGetCtx");
  if (current == nullptr || device == nullptr || of == nullptr) return std::nullopt;
  StreamHome home;
  cuda::ContextPointer own = nullptr;
  if (current(&own) != cuda::kSuccess || own == nullptr) return std::nullopt;
  home.context = own;
  if (!is_default_stream(stream) && of(stream, &home.context) != cuda::kSuccess)
    return std::nullopt;
  if (home.context != own || device(&home.gpu) != cuda::kSuccess) return std::nullopt;
  return home;
}

}  // namespace polypath::preload
