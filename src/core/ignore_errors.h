#pragma once

#include <exception>

#include "core/error.h"

namespace polypath {

/// Makes a call that gives something back. A driver that fails there keeps the thing, and that is
/// all it can do. True if it did not fail.
template <class Call>
bool ignore_errors(const Call& call) noexcept {
  try {
    call();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace polypath
