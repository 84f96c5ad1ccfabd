// cuGetProcAddress as the program finds it: the CUDA runtime takes every function from it.

#include "api/preload/real_driver.h"
#include "api/preload/symbol_lookup.h"

namespace polypath::preload {
namespace {

constexpr std::uint64_t kOwnStreamWanted = 2;     // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
constexpr std::uint64_t kLegacyStreamWanted = 1;  // CU_GET_PROC_ADDRESS_LEGACY_STREAM

// With neither flag, the answer depends on how the caller has been compiled.
bool wants_own_stream(std::uint64_t flags, bool otherwise) {
  if ((flags & kOwnStreamWanted) != 0) return true;
  return (flags & kLegacyStreamWanted) == 0 && otherwise;
}

Result replaced(Result result, const char* name, void** function, int version, bool own_stream) {
  if (result == cuda::kSuccess && function != nullptr)
    *function = replacement_for_request(name, version, own_stream, *function, driver_lacks);
  return result;
}

}  // namespace

Result cuGetProcAddress(const char* name, void** function, int version, std::uint64_t flags) {
  return replaced(real().cuGetProcAddress(name, function, version, flags), name, function, version,
                  wants_own_stream(flags, false));
}

Result cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t flags,
                           int* status) {
  return replaced(real().cuGetProcAddress_v2(name, function, version, flags, status), name,
                  function, version, wants_own_stream(flags, false));
}

Result cuGetProcAddress_v2_ptsz(const char* name, void** function, int version, std::uint64_t flags,
                                int* status) {
  return replaced(real().cuGetProcAddress_v2_ptsz(name, function, version, flags, status), name,
                  function, version, wants_own_stream(flags, true));
}

}  // namespace polypath::preload
