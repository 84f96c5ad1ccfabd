#pragma once
// The driver's requests to map other processes' memory and to unmap it, in a file: its memory does
// not show how often, and in which contexts, this happened.

#include "standin/state/process.h"

namespace polypath::standin {

/// Adds "FUNCTION gpuN ADDRESS RESULT" to the file that STANDIN_JOURNAL names, if it does: a call
/// that the current context's GPU N has had, and CUDA's code for how it went. Address 0 is none.
void note_mapping(const char* function, Address address, Result result) noexcept;

}  // namespace polypath::standin
