#include "driver/cuda/cuda_events.h"

#include <deque>
#include <mutex>
#include <vector>

#include "driver/cuda/handles.h"

namespace polypath::cuda {
namespace {

// Where events are kept: a handle is no pointer that a leak checker could follow. Never destroyed,
// because their drivers may never be.
class EventStore {
 public:
  static EventStore& of_process() {
    static auto& events = *new EventStore;
    return events;
  }
  Event& make(unsigned flags) {
    const std::scoped_lock lock(mutex_);
    Event& event = spare_.empty() ? all_.emplace_back() : *spare_.back();
    if (!spare_.empty()) spare_.pop_back();
    event.flags = flags;
    event.recorded = Event::never;
    return event;
  }
  void give_back(Event& event) {
    for (auto& made : event.made) made = nullptr;
    const std::scoped_lock lock(mutex_);
    spare_.push_back(&event);
  }

 private:
  std::mutex mutex_;
  std::deque<Event> all_;
  std::vector<Event*> spare_;
};

}  // namespace

CudaEvents::CudaEvents(const CudaGpus& gpus, Contexts& contexts, CudaStreams& streams)
    : cuda_(functions()), gpus_(gpus), contexts_(contexts), streams_(streams) {}

// With contexts of our own it is not known yet in which one it will be recorded.
EventHandle CudaEvents::create(PlaceId gpu, unsigned flags) {
  const int index = gpus_.ordinal(gpu);
  Event& event = EventStore::of_process().make(flags);
  const EventHandle handle{pack(index, &event)};
  if (contexts_.are_own()) return handle;
  try {
    (void)made_for(handle, Event::ours);
  } catch (...) {
    EventStore::of_process().give_back(event);
    throw;
  }
  event.recorded = Event::ours;
  return handle;
}

ContextPointer CudaEvents::context_of(EventHandle event, Event::Kind kind) {
  const int gpu = gpus_.of_handle(event.value);
  return kind == Event::programs ? contexts_.of(gpu) : contexts_.ours(gpu);
}

EventPointer CudaEvents::made_for(EventHandle handle, Event::Kind kind) {
  Event& event = event_of(handle);
  auto& made = event.made[kind];
  EventPointer pointer = made.load(std::memory_order_acquire);
  if (pointer != nullptr) return pointer;
  const Current current(context_of(handle, kind));
  check(cuda_.event_create(&pointer, event.flags), "cuEventCreate");
  made.store(pointer, std::memory_order_release);
  return pointer;
}

void CudaEvents::destroy(EventHandle handle) {
  Event& event = event_of(handle);
  Result result = kSuccess;
  for (const Event::Kind kind : {Event::programs, Event::ours}) {
    const EventPointer pointer = event.made[kind].load();
    if (pointer == nullptr) continue;
    const Current current(context_of(handle, kind));
    const Result destroyed = cuda_.event_destroy(pointer);
    if (destroyed != kSuccess) result = destroyed;
  }
  EventStore::of_process().give_back(event);
  check(result, "cuEventDestroy");
}

void CudaEvents::record(EventHandle event, StreamHandle stream) {
  const bool programs = is_foreign(stream) && contexts_.are_own();
  const Event::Kind kind = programs ? Event::programs : Event::ours;
  const EventPointer pointer = made_for(event, kind);
  const Current current(streams_.context_of(stream));
  check(cuda_.event_record(pointer, pointer_of(stream)), "cuEventRecord");
  event_of(event).recorded.store(kind, std::memory_order_release);
}

// As CUDA has it, an event that was never recorded is over.
std::optional<CudaEvents::Recorded> CudaEvents::recorded(EventHandle event) {
  const Event::Kind kind = event_of(event).recorded.load(std::memory_order_acquire);
  if (kind == Event::never) return std::nullopt;
  return Recorded{context_of(event, kind), made_for(event, kind)};
}

void CudaEvents::wait(StreamHandle stream, EventHandle event) {
  const auto earlier = recorded(event);
  if (!earlier) return;
  const Current current(streams_.context_of(stream));
  check(cuda_.stream_wait(pointer_of(stream), earlier->event, 0), "cuStreamWaitEvent");
}

bool CudaEvents::is_done(EventHandle event) {
  const auto earlier = recorded(event);
  if (!earlier) return true;
  const Current current(earlier->context);
  const RelaxedCapture relaxed;
  const Result result = cuda_.event_query(earlier->event);
  if (result == kNotReady) return false;
  check(result, "cuEventQuery");
  return true;
}

std::optional<Seconds> CudaEvents::elapsed(EventHandle begin, EventHandle end) {
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

void CudaEvents::synchronize(EventHandle event) {
  const auto earlier = recorded(event);
  if (!earlier) return;
  const Current current(earlier->context);
  const RelaxedCapture relaxed;
  check(cuda_.event_synchronize(earlier->event), "cuEventSynchronize");
}

}  // namespace polypath::cuda
