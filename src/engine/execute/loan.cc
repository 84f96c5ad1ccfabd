#include "engine/execute/loan.h"

#include "core/ignore_errors.h"

namespace polypath::engine {
namespace {

// Entries that the program's stream is given beyond the program's own while it is held.
constexpr std::size_t kMostWhileHeld = 64;

}  // namespace

bool Loan::has_started() const {
  bool started = started_.value == 0;
  return started || (ignore_errors([&] { started = driver_.is_done(started_); }) && started);
}

bool Loan::may_hold(std::size_t entries) {
  if (has_started()) entries_while_held_ = 0;
  const std::size_t more = entries_while_held_ + entries;
  if (more > kMostWhileHeld) return false;
  entries_while_held_ = more;
  held_ = true;
  return true;
}

bool Loan::is_held_beside(StreamHandle stream) {
  if (!held_ || is_of(stream)) return false;
  held_ = !has_started();
  return held_;
}

}  // namespace polypath::engine
