#pragma once
// Errors of copies that the driver did not make.

#include "core/error.h"
#include "engine/call/copy_call.h"
#include "machine/machine.h"

namespace polypath::engine {

/// Throws the error again with the copy's size and places before it; an UnsettledError stays one.
[[noreturn]] void fail_to_copy(const Machine& machine, Bytes bytes, const CopyEnds& ends,
                               const Error& error);

}  // namespace polypath::engine
