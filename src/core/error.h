#pragma once
// Errors and the form of their messages: *problem (why it is one) what to do*. Inside the library
// errors are exceptions of this one type; each interface (C, Python, CLI) turns them into its own
// form at its border. docs/errors.md lists which call uses which code.

#include <cstdint>
#include <stdexcept>
#include <string>

#include "core/layers.h"

namespace polypath {

enum class ErrorCode {
  invalid_argument,  ///< a size, offset, address, place, path or option that cannot be used
  invalid_machine,   ///< a machine file that is damaged or says something impossible
  invalid_setting,   ///< a POLYPATH_* setting that cannot be read or is out of range
  out_of_memory,     ///< the driver or the host has no memory left for us
  driver,            ///< a driver call failed; the message names it
  unsupported,       ///< meaningful, but not possible on this machine or driver
  noisy_machine,     ///< measurements that do not repeat: something else runs on the machine
  communicator,      ///< another rank did not come, ended, or gave up: nothing more can be done
                     ///< together
  internal,          ///< a broken promise of this library: always a bug
};

/// The code's name as it appears in messages and in the C interface.
const char* name_of(ErrorCode code);

/// The code of a number that came from elsewhere; communicator if there is none.
ErrorCode error_code_of(std::uint32_t number);

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

/// Throws an Error that reads "problem (why) remedy"; `why` and `remedy` may be empty.
[[noreturn]] void fail(ErrorCode code, const std::string& problem, const std::string& why = {},
                       const std::string& remedy = {});

/// A problem with the system's reason for it, which is in errno: "problem (reason)".
std::string with_reason(const char* problem);

}  // namespace polypath
