#include "standin/state/events.h"

#include <memory>
#include <utility>

namespace polypath::standin {

Event& Events::create(const Context& context, unsigned flags) {
  auto made = std::make_unique<Event>();
  Event& event = *made;
  event.context = context.handle;
  event.flags = flags;
  event.work = runner_.create_event(context.gpu);
  event.handle = events_.add(std::move(made));
  return event;
}

void Events::destroy(EventPointer pointer) { runner_.destroy_event(events_.take(pointer)->work); }

void Events::record(Event& event, Stream& stream) {
  if (event.context != stream.context)
    refuse(kInvalidHandle, "the event and the stream are of different contexts");
  if (stream.capturing.active()) {
    check_valid(stream.capturing);
    event.captured = stream.capturing;
    return;
  }
  runner_.record(event.work, stream.work);
  event.captured = {};
  event.recorded = true;
}

void Events::hold(Stream& stream, const Event& event) {
  if (stream.capturing.active() || event.captured.active())
    return standin::join(stream.capturing, event.captured);
  runner_.wait(stream.work, event.work, kind_of_wait(stream, event));
}

Waiting Events::finish(const Event& event) {
  if (event.captured.active()) refuse(kCapturedEvent, "the event stands for captured work");
  if (!event.recorded) return {};
  return runner_.finish(event.work);
}

bool Events::is_done(const Event& event) {
  if (event.captured.active()) refuse(kCapturedEvent, "the event stands for captured work");
  return runner_.is_done(event.work);
}

void Events::remove_all(ContextPointer context) {
  for (const auto& [handle, event] : events_.all())
    if (event->context == context) runner_.destroy_event(event->work);
  events_.erase_if([&](const Event& event) { return event.context == context; });
}

}  // namespace polypath::standin
