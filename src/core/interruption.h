#pragma once
// Long computations that the user may end, as with Ctrl-C.

#include <functional>

namespace polypath {

/// While it lives, long computations of this thread call `check` every few milliseconds; an
/// exception from it ends them. One within another replaces it until it goes.
class Interruptible {
 public:
  explicit Interruptible(std::function<void()> check);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  std::function<void()> check_;
  const std::function<void()>* outer_;
};

/// For the loops of long computations, between two steps that may end there.
void check_interruption();

}  // namespace polypath
