#include "api/preload/idle_streams.h"

#include <thread>

#include "api/preload/program_copy.h"
#include "driver/cuda/handles.h"

namespace polypath::preload {
namespace {

bool is_on(StreamHandle stream, int gpu) {
  return cuda::is_foreign(stream) && cuda::gpu_in(stream.value) == gpu;
}

bool is_of_thread(cuda::StreamPointer stream) {
  return reinterpret_cast<std::uintptr_t>(stream) == cuda::kStreamPerThread;
}

}  // namespace

// Default streams have the same pointer on each GPU, and in each thread.
void IdleStreams::note(cuda::StreamPointer stream, TransferNumber newest) {
  const bool by_default = is_default_stream(stream);
  const std::optional<int> gpu = by_default ? gpu_of(nullptr) : std::nullopt;
  if (by_default && !gpu) return;
  const auto is_idle = [&](StreamHandle each, std::thread::id issuer) {
    return cuda::is_foreign(each) && cuda::pointer_of(each) == stream &&
           (!by_default || is_on(each, *gpu)) &&
           (!is_of_thread(stream) || issuer == std::this_thread::get_id());
  };
  load_.note_idle(is_idle, newest, driver_.now());
}

void IdleStreams::note_all_of(cuda::ContextPointer context, TransferNumber newest) {
  const std::optional<int> gpu = gpu_of(context);
  if (!gpu) return;
  const auto is_idle = [&](StreamHandle each, std::thread::id) { return is_on(each, *gpu); };
  load_.note_idle(is_idle, newest, driver_.now());
}

// A context that is not retained has no transfer of ours. Null is the current one.
std::optional<int> IdleStreams::gpu_of(cuda::ContextPointer context) const {
  if (context == nullptr && cuda::functions().context_current(&context) != cuda::kSuccess)
    return std::nullopt;
  return driver_.contexts().gpu_of_retained(context);
}

}  // namespace polypath::preload
