#include "ways/preload/early_copies.h"

#include <utility>

#include "core/quietly.h"
#include "driver/cuda/contexts.h"
#include "driver/cuda/cuda_api.h"

namespace polypath::preload {
namespace {

bool is_being_captured(cuda::StreamPointer stream) {
  int status = cuda::kCaptureNone;
  return cuda::functions().stream_capturing(stream, &status) != cuda::kSuccess ||
         status != cuda::kCaptureNone;
}

cuda::ContextPointer context_of(cuda::StreamPointer stream) {
  cuda::ContextPointer context = nullptr;
  const cuda::Functions& driver = cuda::functions();
  const bool known = stream == nullptr ? driver.context_current(&context) == cuda::kSuccess
                                       : driver.stream_context(stream, &context) == cuda::kSuccess;
  return known ? context : nullptr;
}

}  // namespace

EarlyCopies& EarlyCopies::of_process() {
  static auto& copies = *new EarlyCopies;
  return copies;
}

void EarlyCopies::note(cuda::StreamPointer stream) noexcept {
  quietly([&] {
    const cuda::ContextPointer context = context_of(stream);
    if (context == nullptr || is_being_captured(stream)) return;
    const cuda::Current current(context);
    const cuda::RelaxedCapture relaxed;
    const cuda::Functions& driver = cuda::functions();
    cuda::EventPointer before = nullptr;
    if (driver.event_create(&before, cuda::kEventDisableTiming) != cuda::kSuccess) return;
    (void)driver.event_record(before, stream);
    const std::scoped_lock lock(mutex_);
    std::swap(before_[{context, stream, std::this_thread::get_id()}], before);
    if (before != nullptr) (void)driver.event_destroy(before);
  });
}

// An event that cannot be asked has ended with its context.
bool EarlyCopies::any() noexcept {
  const std::scoped_lock lock(mutex_);
  for (auto entry = before_.begin(); entry != before_.end(); entry = before_.erase(entry)) {
    const cuda::Result result = cuda::functions().event_query(entry->second);
    if (result == cuda::kNotReady) return true;
    if (result == cuda::kSuccess) (void)cuda::functions().event_destroy(entry->second);
  }
  return false;
}

}  // namespace polypath::preload
