#pragma once
// Events as CUDA has them, over those of the runner: what they stand for, and which streams wait
// for them.

#include "standin/state/captures.h"
#include "standin/state/contexts.h"
#include "standin/state/handles.h"
#include "standin/state/runner.h"
#include "standin/state/streams.h"

namespace polypath::standin {

struct Event {
  EventPointer handle = nullptr;
  ContextPointer context = nullptr;
  EventHandle work;
  unsigned flags = 0;
  bool recorded = false;
  Capturing captured;  ///< the last record was one of a capture
};

class Events {
 public:
  /// A chaotic driver gives a new event the pointer of one that is gone.
  Events(Runner& runner, bool chaotic) : runner_(runner), events_(2, chaotic) {}

  Event& create(const Context& context, unsigned flags);
  void destroy(EventPointer event);
  /// Refuses (invalid handle) what is none, or no more.
  Event& find(EventPointer event) { return events_.find(event); }
  /// The stream is ready for work, or being captured.
  void record(Event& event, Stream& stream);
  /// The kind of a wait of the stream for the event.
  static WorkKind kind_of_wait(const Stream& stream, const Event& event) {
    return stream.context == event.context ? WorkKind::wait : WorkKind::wait_elsewhere;
  }
  /// The stream waits for the event. It is ready for work, or being captured.
  void hold(Stream& stream, const Event& event);
  /// The waiting for the event's work.
  Waiting finish(const Event& event);
  /// True if the work that `finish` waits for has finished.
  bool is_done(const Event& event);

  /// Gives up everything of a context.
  void remove_all(ContextPointer context);

 private:
  Runner& runner_;
  Handles<Event, EventPointer> events_;
};

}  // namespace polypath::standin
