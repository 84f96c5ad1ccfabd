#pragma once
// The functions of the stand-in by name.

#include <string_view>

#include "standin/abi.h"

namespace polypath::standin {

/// The newest function called `name`, without suffixes, that a program made for this CUDA version
/// can know; of a function that takes a stream, the form whose stream 0 is the calling thread's own
/// if `per_thread`. Null if there is none.
void* look_up(std::string_view name, int version, bool per_thread);

}  // namespace polypath::standin
