#pragma once
// The fates of the calls of NCCL, for people and for programs.

#include <string>

#include "nccl/layer.h"

namespace polypath::preload {

/// A line for each operation and size of each kind of end; empty if there were no calls.
std::string nccl_lines(int process);
/// The same as JSON, an object; "null" if there were none.
std::string nccl_report();

}  // namespace polypath::preload
