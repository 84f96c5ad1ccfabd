#pragma once
// Work and calls on their way into a trace.

#include <cstdint>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "driver/trace/events.h"
#include "driver/trace/streams.h"
#include "driver/trace/work.h"

namespace polypath::trace {

/// Work whose beginning has been recorded; none for work that is not timed.
struct Begun {
  StreamHandle stream;
  PlaceId gpu;
  EventHandle event;
  Seconds at;  ///< by the host's clock
  std::vector<Awaited> awaited;
  bool counted = false;  ///< it is in flight
};

/// Work between two events.
struct TimedWork {
  Work work;
  Begun begun;
  EventHandle end;
  Seconds issued;  ///< its call was over then
  int group = 0;
  std::int64_t thread = 0;
  bool over = false;
};

/// A call of the program.
struct ProgramCall {
  std::string name;
  Seconds begin;
  Seconds end;
  std::vector<Detail> details = {};
};

/// The same, and the thread that made it.
struct ThreadCall {
  std::int64_t thread = 0;
  ProgramCall call;
};

}  // namespace polypath::trace
