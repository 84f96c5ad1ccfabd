#pragma once
// Ctrl-C, where C++ waits or computes for Python.

#include <nanobind/nanobind.h>

#include "core/interruption.h"

namespace polypath::python {

/// While it is there, Ctrl-C ends what this thread waits for, by the exception of Python's handler.
/// The interpreter's lock is free.
class EndsByCtrlC {
 public:
  EndsByCtrlC();

 private:
  Interruptible watched_;
};

}  // namespace polypath::python
