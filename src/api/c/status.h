#pragma once
// Error handling of every function of the C interface: errors become a status and this thread's
// last message.

#include <unistd.h>

#include <string>

#include "context/context.h"
#include "core/error.h"
#include "polypath.h"

struct polypath_context {
  polypath::c::Context context;
  int process = getpid();  ///< that opened it
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

/// Error for null, and in a forked child (unsupported).
inline Context& context_of(polypath_context* context) {
  const int process = given(context, "context")->process;
  if (process != getpid())
    fail(ErrorCode::unsupported, "this context belongs to process " + std::to_string(process),
         "a forked child cannot use its parent's streams and memory", "Open one in the child.");
  return context->context;
}

inline Address address_of(const void* pointer) {
  return {reinterpret_cast<std::uintptr_t>(pointer)};
}

}  // namespace polypath::c
