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
    cuda::EventPointer event = nullptr;
    if (cuda::functions().event_create(&event, cuda::kEventDisableTiming) != cuda::kSuccess) return;
    (void)cuda::functions().event_record(event, stream);
    keep({context, stream, std::this_thread::get_id()}, event);
  });
}

void EarlyCopies::keep(const Stream& stream, cuda::EventPointer event) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t id = cuda::id_of(std::get<0>(stream));
  const Before earlier = std::exchange(before_[stream], {event, id});
  if (earlier.event != nullptr && earlier.context_id == id)
    (void)cuda::functions().event_destroy(earlier.event);
}

bool EarlyCopies::any() noexcept {
  const std::scoped_lock lock(mutex_);
  for (auto entry = before_.begin(); entry != before_.end(); entry = before_.erase(entry)) {
    const Before& before = entry->second;
    if (cuda::id_of(std::get<0>(entry->first)) != before.context_id) continue;
    if (cuda::functions().event_query(before.event) == cuda::kNotReady) return true;
    (void)cuda::functions().event_destroy(before.event);
  }
  return false;
}

}  // namespace polypath::preload
