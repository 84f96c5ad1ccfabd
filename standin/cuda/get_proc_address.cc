// How programs, and the CUDA runtime in them, find the functions.

#include <cstdint>

#include "standin/cuda/lookup.h"

namespace polypath::standin {
namespace {

constexpr int kNewest = INT32_MAX;

bool per_thread(std::uint64_t flags) {
  constexpr std::uint64_t kPerThreadDefaultStream = 2;
  return (flags & kPerThreadDefaultStream) != 0;
}

// CUdriverProcAddressQueryResult
int status_of(const char* name, const void* found, std::uint64_t flags) {
  constexpr int kFound = 0, kSymbolNotFound = 1, kVersionNotSufficient = 2;
  if (found != nullptr) return kFound;
  return look_up(name, kNewest, per_thread(flags)) != nullptr ? kVersionNotSufficient
                                                              : kSymbolNotFound;
}

}  // namespace
}  // namespace polypath::standin

using namespace polypath::standin;

STANDIN_EXPORT Result cuGetProcAddress_v2(const char* name, void** function, int version,
                                          std::uint64_t flags, int* status) {
  if (name == nullptr || function == nullptr) return kInvalidValue;
  *function = look_up(name, version, per_thread(flags));
  if (status != nullptr) *status = status_of(name, *function, flags);
  return *function == nullptr ? kNotFound : kSuccess;
}

STANDIN_EXPORT Result cuGetProcAddress(const char* name, void** function, int version,
                                       std::uint64_t flags) {
  if (name == nullptr || function == nullptr) return kInvalidValue;
  *function = look_up(name, version, per_thread(flags));
  return *function == nullptr ? kNotFound : kSuccess;
}
