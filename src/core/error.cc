#include "core/error.h"

#include <cerrno>
#include <cstring>

namespace polypath {

const char* name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid argument";
    case ErrorCode::invalid_machine: return "invalid machine";
    case ErrorCode::invalid_setting: return "invalid setting";
    case ErrorCode::out_of_memory: return "out of memory";
    case ErrorCode::driver: return "driver error";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::noisy_machine: return "noisy machine";
    case ErrorCode::communicator: return "communicator error";
    case ErrorCode::internal: return "internal error";
  }
  return "unknown error";
}

ErrorCode error_code_of(std::uint32_t number) {
  return number <= static_cast<std::uint32_t>(ErrorCode::internal) ? static_cast<ErrorCode>(number)
                                                                   : ErrorCode::communicator;
}

void fail(ErrorCode code, const std::string& problem, const std::string& why,
          const std::string& remedy) {
  std::string message = problem;
  if (!why.empty()) message += " (" + why + ")";
  if (!remedy.empty()) message += " " + remedy;
  throw Error(code, message);
}

std::string with_reason(const char* problem) {
  return std::string(problem) + " (" + std::strerror(errno) + ")";
}

}  // namespace polypath
