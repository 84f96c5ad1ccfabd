// Streams and host functions.

#include "standin/state/process.h"

namespace polypath::standin {
namespace {

Result create(const char* name, StreamPointer* where, unsigned flags, int priority) {
  return enter_unlocked(name, [&](Process& process) {
    if (where == nullptr) refuse(kInvalidValue, "the result has nowhere to go");
    under_lock(process, [](Process& locked) {
      const Context& context = locked.contexts.current();
      return locked.streams.memory().make_room(context, locked.streams.count(context) + 1);
    });
    under_lock(process, [&](Process& locked) {
      *where = locked.streams.create(locked.contexts.current(), flags, priority).handle;
    });
  });
}

// A program must not query, or wait for, work that a capture only records.
Stream& running_stream(Process& process, StreamArgument argument) {
  process.check_no_capture();
  Stream& stream = process.streams.find(argument);
  if (stream.capturing.active())
    spoil(stream.capturing, kCaptureUnsupported, "the stream is being captured");
  return stream;
}

Result synchronize(StreamArgument argument) {
  return enter("cuStreamSynchronize", [&](Process& process) {
    return process.streams.finish(running_stream(process, argument));
  });
}

Result query(StreamArgument argument) {
  bool done = false;
  const Result result = enter("cuStreamQuery", [&](Process& process) {
    done = process.streams.is_done(running_stream(process, argument));
  });
  return result == kSuccess && !done ? kNotReady : result;
}

Result wait(StreamArgument argument, EventPointer event) {
  return enter("cuStreamWaitEvent", [&](Process& process) {
    const Event& awaited = process.events.find(event);
    const WorkKind kind = Events::kind_of_wait(process.streams.find(argument), awaited);
    process.events.hold(process.stream(argument, kind), awaited);
  });
}

Result start_function(const char* name, StreamArgument argument, std::function<void()> function) {
  return enter(name, [&](Process& process) {
    Stream& stream = process.stream(argument, WorkKind::function);
    if (stream.capturing.active())
      spoil(stream.capturing, kCaptureUnsupported, "graphs here have no host functions");
    process.runner->call(std::move(function), stream.work);
  });
}

using Callback = void (*)(StreamPointer, Result, void*);
using HostFunction = void (*)(void*);

Result add_callback(StreamArgument argument, Callback callback, void* data) {
  if (callback == nullptr) return kInvalidValue;
  return start_function("cuStreamAddCallback", argument,
                        [=] { callback(argument.stream, kSuccess, data); });
}

Result launch_function(StreamArgument argument, HostFunction function, void* data) {
  if (function == nullptr) return kInvalidValue;
  return start_function("cuLaunchHostFunc", argument, [=] { function(data); });
}

Result context_of(StreamArgument argument, ContextPointer* where) {
  return enter("cuStreamGetCtx",
               [&](Process& process) { store(where, process.streams.find(argument).context); });
}

// CUDA's documentation allows it; H200s with driver 580 spoil the capture, also for relaxed
// threads.
Result flags_of(StreamArgument argument, unsigned* where) {
  return enter("cuStreamGetFlags", [&](Process& process) {
    const Stream& stream = process.streams.find(argument);
    if (stream.capturing.active())
      spoil(stream.capturing, kCaptureUnsupported, "the stream is being captured");
    store(where, stream.flags);
  });
}

Result priority_of(StreamArgument argument, int* where) {
  return enter("cuStreamGetPriority",
               [&](Process& process) { store(where, process.streams.find(argument).priority); });
}

// CUDA's number is unique in the program, and so is the handle here.
Result id_of(StreamArgument argument, unsigned long long* where) {
  return enter("cuStreamGetId", [&](Process& process) {
    store(where, reinterpret_cast<std::uintptr_t>(process.streams.find(argument).handle));
  });
}

}  // namespace
}  // namespace polypath::standin

using namespace polypath::standin;

STANDIN_EXPORT Result cuStreamCreate(StreamPointer* where, unsigned flags) {
  return create("cuStreamCreate", where, flags, 0);
}

STANDIN_EXPORT Result cuStreamCreateWithPriority(StreamPointer* where, unsigned flags,
                                                 int priority) {
  return create("cuStreamCreateWithPriority", where, flags, priority);
}

STANDIN_EXPORT Result cuStreamDestroy_v2(StreamPointer stream) {
  return enter("cuStreamDestroy", [&](Process& process) { process.streams.destroy(stream); });
}

STANDIN_BOTH(cuStreamSynchronize, _ptsz, (StreamPointer stream), synchronize({stream, kZero}))
STANDIN_BOTH(cuStreamQuery, _ptsz, (StreamPointer stream), query({stream, kZero}))
STANDIN_BOTH(cuStreamWaitEvent, _ptsz, (StreamPointer stream, EventPointer event, unsigned),
             wait({stream, kZero}, event))
STANDIN_BOTH(cuStreamAddCallback, _ptsz,
             (StreamPointer stream, Callback callback, void* data, unsigned),
             add_callback({stream, kZero}, callback, data))
STANDIN_BOTH(cuLaunchHostFunc, _ptsz, (StreamPointer stream, HostFunction function, void* data),
             launch_function({stream, kZero}, function, data))
STANDIN_BOTH(cuStreamGetCtx, _ptsz, (StreamPointer stream, ContextPointer* context),
             context_of({stream, kZero}, context))
STANDIN_BOTH(cuStreamGetFlags, _ptsz, (StreamPointer stream, unsigned* flags),
             flags_of({stream, kZero}, flags))
STANDIN_BOTH(cuStreamGetPriority, _ptsz, (StreamPointer stream, int* priority),
             priority_of({stream, kZero}, priority))
STANDIN_BOTH(cuStreamGetId, _ptsz, (StreamPointer stream, unsigned long long* id),
             id_of({stream, kZero}, id))
