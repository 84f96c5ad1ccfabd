#pragma once
// Long computations that somebody may end, as a person does with Ctrl-C.

#include <functional>

namespace polypath {

/// While it lives, long computations of this thread call `check` every few milliseconds; what it
/// throws ends them. One within another replaces it until it goes.
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
