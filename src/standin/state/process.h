#pragma once
// The driver as one process has it, and how every call enters it.

#include <mutex>

#include "core/error.h"
#include "standin/facts/settings.h"
#include "standin/state/allocations.h"
#include "standin/state/contexts.h"
#include "standin/state/graphs.h"
#include "standin/state/host_functions.h"
#include "standin/state/streams.h"

namespace polypath::standin {

class Process {
 public:
  /// Error (invalid_argument, invalid_machine) if the environment cannot be used.
  explicit Process(const Settings& settings);

  /// The stream that the program means, ready for work: in order with the default stream, and its
  /// host functions have returned.
  Stream& stream(StreamArgument argument);
  /// The place of pinned and managed memory.
  [[nodiscard]] PlaceId host() const { return host_; }
  /// Refuses (capture unsupported) what could disturb a capture, as CUDA does.
  void check_no_capture() const;
  /// Gives up a context and everything in it, once it has finished.
  void destroy(const Context& context);

  std::mutex lock;
  Settings settings;
  sim::SimDriver driver;
  Contexts contexts;
  Streams streams;
  Allocations allocations;
  Graphs graphs;
  HostFunctions functions;

 private:
  PlaceId host_;
};

/// What cuInit does: starts the driver in this process, once. Never throws.
Result start() noexcept;
/// The driver of this process; null, and why, before cuInit, after exit, and in a forked child.
Process* running(Result& otherwise) noexcept;

/// Counts a call for STANDIN_STATISTICS. Under the lock.
void count_call(const char* function);
/// The code for what is being thrown; says it under STANDIN_LOG.
Result answer_for_exception(const char* function) noexcept;

/// Runs the body of one call under the lock; what it throws becomes CUDA's code.
template <class Body>
Result enter(const char* function, Body body) noexcept {
  Result result = kSuccess;
  Process* process = running(result);
  if (process == nullptr) return result;
  const std::scoped_lock lock(process->lock);
  try {
    count_call(function);
    body(*process);
    return kSuccess;
  } catch (...) {
    return answer_for_exception(function);
  }
}

}  // namespace polypath::standin
