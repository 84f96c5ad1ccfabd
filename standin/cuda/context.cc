// Contexts.

#include "standin/state/process.h"

namespace polypath::standin {
namespace {

ContextPointer or_current(ContextPointer context) {
  return context == nullptr ? Contexts::current_pointer() : context;
}

void set_flags(Process& process, Device device, unsigned flags) {
  process.contexts.primary_flags(device) = flags;
  if (Context* context = process.contexts.primary(device)) context->flags = flags;
}

Result create(ContextPointer* where, unsigned flags, Device device) {
  return enter("cuCtxCreate", [&](Process& process) {
    if (where == nullptr) refuse(kInvalidValue, "the result has nowhere to go");
    process.admit_context(device);
    const Context& context = process.contexts.create(device, flags);
    store(where, context.handle);
    Contexts::push(context.handle);
  });
}

// A context ends when its work has finished: `ending` is the one that `end` will end, if any.
template <class Ending, class End>
Result end_context(const char* name, Ending ending, End end) {
  return enter_unlocked(name, [&](Process& process) {
    under_lock(process, [&](Process& locked) -> Waiting {
      const Context* context = ending(locked);
      if (context == nullptr) return {};
      return locked.streams.finish_all(context->handle);
    });
    under_lock(process, [&](Process& locked) { end(locked); });
  });
}

const Context& retain(Process& process, Device device) {
  if (process.contexts.primary(device) == nullptr) process.admit_context(device);
  return process.contexts.retain(device);
}

void release(Process& process, Device device) {
  if (const Context* last = process.contexts.release(device)) process.destroy(*last);
}

void reset(Process& process, Device device) {
  if (const Context* last = process.contexts.primary(device)) process.destroy(*last);
}

const Context& created(Process& process, ContextPointer context) {
  const Context& found = process.contexts.find(context);
  if (found.primary) refuse(kInvalidContext, "a primary context is released, not destroyed");
  return found;
}

void destroy(Process& process, ContextPointer context) {
  const Context& found = created(process, context);
  if (Contexts::current_pointer() == context) Contexts::pop();
  process.destroy(found);
}

}  // namespace
}  // namespace polypath::standin

using namespace polypath;
using namespace polypath::standin;

STANDIN_EXPORT Result cuDevicePrimaryCtxRetain(ContextPointer* where, Device device) {
  return enter("cuDevicePrimaryCtxRetain",
               [&](Process& process) { store(where, retain(process, device).handle); });
}

STANDIN_EXPORT Result cuDevicePrimaryCtxRelease_v2(Device device) {
  return end_context(
      "cuDevicePrimaryCtxRelease",
      [&](Process& process) { return process.contexts.last_held(device); },
      [&](Process& process) { release(process, device); });
}

STANDIN_EXPORT Result cuDevicePrimaryCtxReset_v2(Device device) {
  return end_context(
      "cuDevicePrimaryCtxReset", [&](Process& process) { return process.contexts.primary(device); },
      [&](Process& process) { reset(process, device); });
}

STANDIN_EXPORT Result cuDevicePrimaryCtxGetState(Device device, unsigned* flags, int* active) {
  return enter("cuDevicePrimaryCtxGetState", [&](Process& process) {
    store(flags, process.contexts.primary_flags(device));
    store(active, process.contexts.primary(device) != nullptr ? 1 : 0);
  });
}

STANDIN_EXPORT Result cuDevicePrimaryCtxSetFlags_v2(Device device, unsigned flags) {
  return enter("cuDevicePrimaryCtxSetFlags",
               [&](Process& process) { set_flags(process, device, flags); });
}

STANDIN_EXPORT Result cuCtxCreate_v2(ContextPointer* where, unsigned flags, Device device) {
  return create(where, flags, device);
}

STANDIN_EXPORT Result cuCtxCreate_v4(ContextPointer* where, void*, unsigned flags, Device device) {
  return create(where, flags, device);
}

STANDIN_EXPORT Result cuCtxDestroy_v2(ContextPointer context) {
  return end_context(
      "cuCtxDestroy", [&](Process& process) { return &created(process, context); },
      [&](Process& process) { destroy(process, context); });
}

STANDIN_EXPORT Result cuCtxGetCurrent(ContextPointer* where) {
  return enter("cuCtxGetCurrent", [&](Process&) { store(where, Contexts::current_pointer()); });
}

STANDIN_EXPORT Result cuCtxSetCurrent(ContextPointer context) {
  return enter("cuCtxSetCurrent", [&](Process& process) {
    if (context != nullptr) (void)process.contexts.find(context);
    Contexts::set_current(context);
  });
}

STANDIN_EXPORT Result cuCtxPushCurrent_v2(ContextPointer context) {
  return enter("cuCtxPushCurrent",
               [&](Process& process) { Contexts::push(process.contexts.find(context).handle); });
}

STANDIN_EXPORT Result cuCtxPopCurrent_v2(ContextPointer* where) {
  return enter("cuCtxPopCurrent", [&](Process&) {
    const ContextPointer popped = Contexts::pop();
    if (where != nullptr) *where = popped;
  });
}

STANDIN_EXPORT Result cuCtxGetDevice(Device* where) {
  return enter("cuCtxGetDevice",
               [&](Process& process) { store(where, process.contexts.current().ordinal); });
}

STANDIN_EXPORT Result cuCtxGetId(ContextPointer context, unsigned long long* where) {
  return enter("cuCtxGetId", [&](Process& process) {
    store(where, process.contexts.find(or_current(context)).id);
  });
}

STANDIN_EXPORT Result cuCtxGetFlags(unsigned* where) {
  return enter("cuCtxGetFlags",
               [&](Process& process) { store(where, process.contexts.current().flags); });
}

STANDIN_EXPORT Result cuCtxSetFlags(unsigned flags) {
  return enter("cuCtxSetFlags",
               [&](Process& process) { process.contexts.current().flags = flags; });
}

STANDIN_EXPORT Result cuCtxGetApiVersion(ContextPointer context, unsigned* where) {
  return enter("cuCtxGetApiVersion", [&](Process& process) {
    (void)process.contexts.find(or_current(context));
    store(where, kDriverVersion);
  });
}

STANDIN_EXPORT Result cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return enter("cuCtxGetStreamPriorityRange", [&](Process& process) {
    (void)process.contexts.current();
    store(least, 0);
    store(greatest, -5);
  });
}

STANDIN_EXPORT Result cuCtxSynchronize() {
  return enter("cuCtxSynchronize", [&](Process& process) {
    process.check_no_capture();
    return process.streams.finish_all(process.contexts.current().handle);
  });
}
