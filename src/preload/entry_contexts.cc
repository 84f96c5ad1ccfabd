// Contexts and what they may reach, as the program finds them.

#include "driver/cuda/cuda_api.h"
#include "driver/cuda/peer_access.h"
#include "preload/interposer.h"
#include "preload/real_driver.h"
#include "preload/shared_memory.h"

namespace polypath::preload {
namespace {

ContextPointer current_context() {
  ContextPointer context = nullptr;
  const cuda::Library& library = cuda::Library::get();
  return library.problem.empty() && library.functions.context_current(&context) == cuda::kSuccess
             ? context
             : nullptr;
}

// The primary context of a GPU ends, and with it what it could reach.
void forget_peers_of(Device gpu) {
  const cuda::Library& library = cuda::Library::get();
  if (!library.problem.empty()) return;
  const cuda::Functions& driver = library.functions;
  unsigned flags = 0;
  int active = 0;
  ContextPointer context = nullptr;
  if (driver.context_state(gpu, &flags, &active) != cuda::kSuccess || active == 0 ||
      driver.context_retain(&context, gpu) != cuda::kSuccess)
    return;
  driver.context_release(gpu);
  cuda::PeerAccess::of_process().forget(context);
}

void note_reset(Device gpu) {
  Interposer::get().contexts_reset();
  forget_peers_of(gpu);
  if (SharedMemory* shared = SharedMemory::existing()) shared->end();
}

}  // namespace

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
