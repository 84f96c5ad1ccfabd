#pragma once

#include <span>

#include "engine/call/copy_call.h"

namespace polypath::engine {

/// True if one of the copies writes what another one reads or writes.
bool depend_on_each_other(std::span<const CopyCall> calls);

}  // namespace polypath::engine
