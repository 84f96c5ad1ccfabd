// Events of ours in streams of the program's contexts and of our own.

#include <memory>

#include "driver/cuda/cuda_driver.h"
#include "driver/cuda/handles.h"

namespace polypath::cuda {

EventHandle CudaDriver::create_event(PlaceId gpu) { return create_event(gpu, kEventDisableTiming); }

EventHandle CudaDriver::create_timing_event(PlaceId gpu) {
  return create_event(gpu, kEventDefault);
}

// Where contexts are our own nobody knows yet in which one it will be recorded.
EventHandle CudaDriver::create_event(PlaceId gpu, unsigned flags) {
  const int index = ordinal(gpu);
  auto event = std::make_unique<Event>();
  event->flags = flags;
  const EventHandle handle{pack(index, event.get())};
  if (!contexts_.are_own()) {
    (void)made_for(handle, Event::ours);
    event->recorded = Event::ours;
  }
  (void)event.release();
  return handle;
}

ContextPointer CudaDriver::context_of(EventHandle event, Event::Kind kind) {
  const int gpu = gpu_of(event.value);
  return kind == Event::programs ? contexts_.of(gpu) : contexts_.ours(gpu);
}

EventPointer CudaDriver::made_for(EventHandle handle, Event::Kind kind) {
  Event& event = event_of(handle);
  auto& made = event.made[kind];
  EventPointer pointer = made.load(std::memory_order_acquire);
  if (pointer != nullptr) return pointer;
  const Current current(context_of(handle, kind));
  check(cuda_.event_create(&pointer, event.flags), "cuEventCreate");
  made.store(pointer, std::memory_order_release);
  return pointer;
}

void CudaDriver::destroy_event(EventHandle handle) {
  const std::unique_ptr<Event> event(&event_of(handle));
  Result result = kSuccess;
  for (const Event::Kind kind : {Event::programs, Event::ours}) {
    const EventPointer pointer = event->made[kind].load();
    if (pointer == nullptr) continue;
    const Current current(context_of(handle, kind));
    const Result destroyed = cuda_.event_destroy(pointer);
    if (destroyed != kSuccess) result = destroyed;
  }
  check(result, "cuEventDestroy");
}

void CudaDriver::record(EventHandle event, StreamHandle stream) {
  const bool programs = is_foreign(stream) && contexts_.are_own();
  const Event::Kind kind = programs ? Event::programs : Event::ours;
  const EventPointer pointer = made_for(event, kind);
  const Current current(context_of(stream));
  check(cuda_.event_record(pointer, pointer_of(stream)), "cuEventRecord");
  event_of(event).recorded.store(kind, std::memory_order_release);
}

// As CUDA has it, an event that was never recorded is over.
std::optional<CudaDriver::Recorded> CudaDriver::recorded(EventHandle event) {
  const Event::Kind kind = event_of(event).recorded.load(std::memory_order_acquire);
  if (kind == Event::never) return std::nullopt;
  return Recorded{context_of(event, kind), made_for(event, kind)};
}

void CudaDriver::wait(StreamHandle stream, EventHandle event) {
  const auto earlier = recorded(event);
  if (!earlier) return;
  const Current current(context_of(stream));
  check(cuda_.stream_wait(pointer_of(stream), earlier->event, 0), "cuStreamWaitEvent");
}

bool CudaDriver::is_done(EventHandle event) {
  const auto earlier = recorded(event);
  if (!earlier) return true;
  const Current current(earlier->context);
  const RelaxedCapture relaxed;
  const Result result = cuda_.event_query(earlier->event);
  if (result == kNotReady) return false;
  check(result, "cuEventQuery");
  return true;
}

std::optional<Seconds> CudaDriver::elapsed(EventHandle begin, EventHandle end) {
  const auto first = recorded(begin), last = recorded(end);
  if (!first || !last) return std::nullopt;
  const Current current(last->context);
  const RelaxedCapture relaxed;
  float milliseconds = 0;
  const Result result = cuda_.event_elapsed(&milliseconds, first->event, last->event);
  if (result == kNotReady) return std::nullopt;
  check(result, "cuEventElapsedTime");
  return Seconds{milliseconds * 1e-3};
}

void CudaDriver::synchronize(EventHandle event) {
  const auto earlier = recorded(event);
  if (!earlier) return;
  const Current current(earlier->context);
  const RelaxedCapture relaxed;
  check(cuda_.event_synchronize(earlier->event), "cuEventSynchronize");
}

}  // namespace polypath::cuda
