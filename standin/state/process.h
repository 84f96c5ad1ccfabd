#pragma once
// The driver as one process has it, and how every call enters it.

#include <functional>
#include <mutex>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "standin/facts/settings.h"
#include "standin/state/allocations.h"
#include "standin/state/contexts.h"
#include "standin/state/events.h"
#include "standin/state/graphs.h"
#include "standin/state/owners.h"
#include "standin/state/pools.h"
#include "standin/state/runner.h"
#include "standin/state/streams.h"
#include "standin/state/virtual_memory.h"

namespace polypath::standin {

class Process {
 public:
  /// Error (invalid_argument, invalid_machine) if the environment cannot be used.
  explicit Process(const StandInSettings& settings);

  /// The stream that the program means, ready for work: in order with the default stream, and with
  /// room for it. Blocked where there is none.
  Stream& stream(StreamArgument argument, WorkKind kind);
  /// The place of pinned and managed memory.
  [[nodiscard]] PlaceId host() const;
  /// Refuses (device unavailable, out of memory) a further context of the GPU. An admitted context
  /// must be made.
  void admit_context(Device device);
  /// The part of a GPU's memory that contexts of this process have taken, for themselves too.
  [[nodiscard]] Bytes used(Device device) const;
  /// Refuses (capture unsupported) what could disturb a capture, as CUDA does.
  void check_no_capture() const;
  /// Call when memory of the GPU has run out: blocks while what could be of use is in use.
  void collect(PlaceId gpu);
  /// Gives up a context and everything in it; its work has finished.
  void destroy(const Context& context);

  std::mutex lock;
  StandInSettings settings;
  Machine machine;
  std::unique_ptr<Runner> runner;
  Contexts contexts;
  Streams streams;
  Events events;
  Allocations allocations;
  VirtualMemory virtual_memory;
  Pools pools;
  Graphs graphs;
  Owners owners;
};

/// The work of cuInit: starts the driver in this process, once. `exists` knows the functions by
/// name. Never throws.
Result start(bool (*exists)(std::string_view function)) noexcept;
/// The driver of this process; null, and why, before cuInit, after exit, and in a forked child.
Process* running(Result& otherwise) noexcept;

/// Counts a call; fails if it is one of those that STANDIN_FAIL names, or may not be made here.
void begin_call(const StandInSettings& settings, const char* function);
/// The code for the exception being thrown; logs it under STANDIN_LOG.
Result answer_for_exception(const char* function) noexcept;

/// Runs a part of a call under the lock, then waits without the lock for the work that it returns.
/// The part may be run several times: until it is not blocked.
template <class Body>
void under_lock(Process& process, Body body) {
  for (bool blocked = true; blocked;) {
    Waiting waiting;
    try {
      const std::scoped_lock lock(process.lock);
      if constexpr (std::is_void_v<std::invoke_result_t<Body&, Process&>>) body(process);
      else waiting = body(process);
      blocked = false;
    } catch (Blocked& met) {
      waiting = std::move(met.wait);
    }
    if (waiting) waiting();
  }
}

/// Runs a call, which takes the lock where it needs it; an exception becomes CUDA's code.
template <class Call>
Result enter_unlocked(const char* function, Call call) noexcept {
  Result result = kSuccess;
  Process* process = running(result);
  if (process == nullptr) return result;
  try {
    begin_call(process->settings, function);
    call(*process);
    return kSuccess;
  } catch (...) {
    return answer_for_exception(function);
  }
}

/// Runs a call that is one part under the lock.
template <class Body>
Result enter(const char* function, Body body) noexcept {
  return enter_unlocked(function, [&](Process& process) { under_lock(process, std::ref(body)); });
}

}  // namespace polypath::standin
