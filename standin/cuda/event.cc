// Events.

#include "standin/state/process.h"

namespace polypath::standin {
namespace {

Result record(const char* name, EventPointer event, StreamArgument argument) {
  return enter(name, [&](Process& process) {
    Stream& stream = process.stream(argument, WorkKind::record);
    process.events.record(process.events.find(event), stream);
  });
}

float milliseconds_between(Process& process, const Event& begin, const Event& end) {
  for (const Event* event : {&begin, &end})
    if (!event->recorded || (event->flags & cuda::kEventDisableTiming) != 0)
      refuse(kInvalidHandle, "the event was not recorded, or without its time");
  const auto from = process.runner->finished_at(begin.work);
  const auto to = process.runner->finished_at(end.work);
  if (!from || !to) throw Failure{kNotReady, "an event is still to come"};
  return static_cast<float>((*to - *from).value * 1e3);
}

Result elapsed(float* where, EventPointer begin, EventPointer end) {
  return enter("cuEventElapsedTime", [&](Process& process) {
    store(where,
          milliseconds_between(process, process.events.find(begin), process.events.find(end)));
  });
}

}  // namespace
}  // namespace polypath::standin

using namespace polypath::standin;

STANDIN_EXPORT Result cuEventCreate(EventPointer* where, unsigned flags) {
  return enter("cuEventCreate", [&](Process& process) {
    constexpr unsigned kInterprocess = 4;
    if ((flags & kInterprocess) != 0) refuse(kNotSupported, "events stay in their process here");
    if (where == nullptr) refuse(kInvalidValue, "the result has nowhere to go");
    *where = process.events.create(process.contexts.current(), flags).handle;
  });
}

STANDIN_EXPORT Result cuEventDestroy_v2(EventPointer event) {
  return enter("cuEventDestroy", [&](Process& process) { process.events.destroy(event); });
}

STANDIN_BOTH(cuEventRecord, _ptsz, (EventPointer event, StreamPointer stream),
             record("cuEventRecord", event, {stream, kZero}))
STANDIN_BOTH(cuEventRecordWithFlags, _ptsz, (EventPointer event, StreamPointer stream, unsigned),
             record("cuEventRecordWithFlags", event, {stream, kZero}))

STANDIN_EXPORT Result cuEventQuery(EventPointer event) {
  bool done = false;
  const Result result = enter("cuEventQuery", [&](Process& process) {
    process.check_no_capture();
    done = process.events.is_done(process.events.find(event));
  });
  return result == kSuccess && !done ? kNotReady : result;
}

STANDIN_EXPORT Result cuEventSynchronize(EventPointer event) {
  return enter("cuEventSynchronize", [&](Process& process) {
    process.check_no_capture();
    return process.events.finish(process.events.find(event));
  });
}

// In the runner's time.
STANDIN_EXPORT Result cuEventElapsedTime(float* where, EventPointer begin, EventPointer end) {
  return elapsed(where, begin, end);
}
STANDIN_EXPORT Result cuEventElapsedTime_v2(float* where, EventPointer begin, EventPointer end) {
  return elapsed(where, begin, end);
}
