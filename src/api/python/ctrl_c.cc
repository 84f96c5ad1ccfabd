#include "api/python/ctrl_c.h"

#include <chrono>

namespace polypath::python {
namespace {

using Clock = std::chrono::steady_clock;

// People take a reaction within a tenth of a second for immediate, and the interpreter's lock is
// not free for a waiting thread.
constexpr std::chrono::milliseconds kBetweenChecks{50};

void check_signals_now_and_then() {
  thread_local Clock::time_point next{};
  if (Clock::now() < next) return;
  next = Clock::now() + kBetweenChecks;
  const nanobind::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

}  // namespace

EndsByCtrlC::EndsByCtrlC() : watched_(&check_signals_now_and_then) {}

}  // namespace polypath::python
