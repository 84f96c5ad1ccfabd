#pragma once
// Error handling of every function of the C interface: errors become a status and this thread's
// last message.

#include <string>

#include "context/context.h"
#include "core/error.h"
#include "polypath.h"

struct polypath_context {
  polypath::c::Context context;
};

namespace polypath::c {

/// This thread's last message.
std::string& last_error();
polypath_status failed(polypath_status status, const char* message) noexcept;
/// The current exception as a status. Called while an exception is handled.
polypath_status failed_by_exception() noexcept;

/// Runs `call` and turns what it throws into a status.
template <class Call>
polypath_status guarded(Call call) noexcept {
  try {
    call();
    return POLYPATH_SUCCESS;
  } catch (...) {
    return failed_by_exception();
  }
}

/// Error (invalid_argument) for null.
template <class Pointer>
Pointer* given(Pointer* pointer, const char* name) {
  if (pointer == nullptr)
    fail(ErrorCode::invalid_argument, std::string(name) + " is null", "the call needs it",
         "Pass a valid pointer.");
  return pointer;
}

inline Context& context_of(polypath_context* context) { return given(context, "context")->context; }

inline Address address_of(const void* pointer) {
  return {reinterpret_cast<std::uintptr_t>(pointer)};
}

}  // namespace polypath::c
