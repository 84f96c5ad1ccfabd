// Contexts and what they may reach, as the program finds them.

#include <map>
#include <mutex>

#include "api/preload/interposer.h"
#include "api/preload/real_driver.h"
#include "api/preload/shared_memory.h"
#include "driver/cuda/contexts.h"
#include "driver/cuda/cuda_api.h"
#include "driver/cuda/peer_access.h"

namespace polypath::preload {
namespace {

ContextPointer current_context() {
  ContextPointer context = nullptr;
  const cuda::DriverLibrary& library = cuda::DriverLibrary::get();
  return library.problem.empty() && library.functions.context_current(&context) == cuda::kSuccess
             ? context
             : nullptr;
}

// The primary context of a GPU ends, and with it what it could reach.
void forget_peers_of(Device gpu) {
  const cuda::DriverLibrary& library = cuda::DriverLibrary::get();
  if (!library.problem.empty()) return;
  const cuda::Functions& driver = library.functions;
  ContextPointer context = nullptr;
  if (!cuda::is_active(gpu) || driver.context_retain(&context, gpu) != cuda::kSuccess) return;
  driver.context_release(gpu);
  cuda::PeerAccess::of_process().forget(context);
}

void note_reset(Device gpu) {
  Interposer::get().contexts_reset();
  forget_peers_of(gpu);
  if (SharedMemory* shared = SharedMemory::existing()) shared->end();
}

// How often the program holds the primary contexts, as far as it has been seen to take them.
class Holds {
 public:
  void retained(Device gpu, ContextPointer context) {
    const std::scoped_lock lock(mutex_);
    Hold& hold = holds_[gpu];
    hold.context = context;
    ++hold.count;
  }
  // For the program the context ends with its last hold.
  void released(Device gpu) {
    const std::scoped_lock lock(mutex_);
    const auto found = holds_.find(gpu);
    if (found == holds_.end() || --found->second.count > 0) return;
    cuda::PeerAccess& access = cuda::PeerAccess::of_process();
    const ContextPointer context = found->second.context;
    cuda::is_active(gpu) ? access.program_forgets(context) : access.forget(context);
    holds_.erase(found);
  }

 private:
  struct Hold {
    ContextPointer context = nullptr;
    int count = 0;
  };
  std::mutex mutex_;
  std::map<Device, Hold> holds_;
};

Holds& holds() {
  static auto& of_process = *new Holds;
  return of_process;
}

Result released(Result result, Device gpu) {
  if (result == cuda::kSuccess) holds().released(gpu);
  return result;
}

}  // namespace

Result cuDevicePrimaryCtxRetain(ContextPointer* context, Device gpu) {
  const Result result = real().cuDevicePrimaryCtxRetain(context, gpu);
  if (result == cuda::kSuccess) holds().retained(gpu, *context);
  return result;
}

Result cuDevicePrimaryCtxRelease(Device gpu) {
  return released(real().cuDevicePrimaryCtxRelease(gpu), gpu);
}

Result cuDevicePrimaryCtxRelease_v2(Device gpu) {
  return released(real().cuDevicePrimaryCtxRelease_v2(gpu), gpu);
}

Result cuCtxEnablePeerAccess(ContextPointer peer, unsigned flags) {
  return cuda::PeerAccess::of_process().program_enables(
      current_context(), peer, [&] { return real().cuCtxEnablePeerAccess(peer, flags); });
}

Result cuCtxDisablePeerAccess(ContextPointer peer) {
  return cuda::PeerAccess::of_process().program_disables(
      current_context(), peer, [&] { return real().cuCtxDisablePeerAccess(peer); });
}

Result cuCtxDestroy_v2(ContextPointer context) {
  const Result result = real().cuCtxDestroy_v2(context);
  if (result == cuda::kSuccess) cuda::PeerAccess::of_process().forget(context);
  return result;
}

// With its context every stream, event and buffer of ours on that GPU goes.
Result cuDevicePrimaryCtxReset(Device gpu) {
  note_reset(gpu);
  return real().cuDevicePrimaryCtxReset(gpu);
}

Result cuDevicePrimaryCtxReset_v2(Device gpu) {
  note_reset(gpu);
  return real().cuDevicePrimaryCtxReset_v2(gpu);
}

}  // namespace polypath::preload
