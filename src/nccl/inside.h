#pragma once
// The real library calls functions of its own by their public names, which are ours then: those
// calls are not the program's.

#include "nccl/functions.h"

namespace polypath::nccl {

/// While it is there, calls of this thread are the real library's own.
class Inside {
 public:
  Inside() { ++depth(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { --depth(); }

  [[nodiscard]] static bool is_so() { return depth() > 0; }

 private:
  static int& depth() {
    thread_local int depth = 0;
    return depth;
  }
};

/// A function of the real library; it may have none.
template <class Function, class... Arguments>
Result call_real(Function function, Arguments... arguments) {
  const Inside inside;
  return function == nullptr ? kMissing : function(arguments...);
}

}  // namespace polypath::nccl
