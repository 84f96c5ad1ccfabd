#include "api/preload/copy_gate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <limits>

#include "api/preload/shared_counts.h"
#include "core/standard_error.h"

namespace polypath::preload {

void CopyGate::pass_below(Bytes before, Bytes bytes) {
  std::uint64_t expected = before.value;
  pass_below_.compare_exchange_strong(expected, bytes.value);
}

void CopyGate::turn_off(const char* why) noexcept {
  const std::scoped_lock lock(mutex_);
  set_off(why);
}

void CopyGate::turn_off(const std::string& problem, const char* why) noexcept {
  const std::scoped_lock lock(mutex_);
  try {
    write_to_stderr(fmt::format("polypath: {} All copies of process {} are left to the driver.\n",
                                problem, getpid()));
  } catch (const std::exception&) {
    // Without memory for the words the copies are native all the same.
  }
  set_off(why);
}

const char* CopyGate::why_off() {
  const std::scoped_lock lock(mutex_);
  return why_off_;
}

void CopyGate::set_off(const char* why) noexcept {
  if (!is_off()) {
    why_off_ = why;
    SharedCounts::of_process().note_off(why);
  }
  is_off_.store(true, std::memory_order_release);
  pass_as_.store(Outcome::off, std::memory_order_relaxed);
  pass_below_.store(std::numeric_limits<std::uint64_t>::max(), std::memory_order_release);
}

}  // namespace polypath::preload
