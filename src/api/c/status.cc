#include "api/c/status.h"

#include <new>

namespace polypath::c {
namespace {

polypath_status status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return POLYPATH_INVALID_ARGUMENT;
    case ErrorCode::invalid_machine: return POLYPATH_INVALID_MACHINE;
    case ErrorCode::invalid_setting: return POLYPATH_INVALID_SETTING;
    case ErrorCode::out_of_memory: return POLYPATH_OUT_OF_MEMORY;
    case ErrorCode::driver: return POLYPATH_DRIVER_ERROR;
    case ErrorCode::unsupported: return POLYPATH_UNSUPPORTED;
    case ErrorCode::noisy_machine: return POLYPATH_NOISY_MACHINE;
    case ErrorCode::communicator: return POLYPATH_COMMUNICATOR_ERROR;
    case ErrorCode::internal: return POLYPATH_INTERNAL_ERROR;
  }
  return POLYPATH_INTERNAL_ERROR;
}

}  // namespace

std::string& last_error() {
  thread_local std::string message;
  return message;
}

polypath_status failed(polypath_status status, const char* message) noexcept {
  try {
    last_error() = message;
  } catch (...) {
    last_error().clear();
  }
  return status;
}

polypath_status failed_by_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return failed(status_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return failed(POLYPATH_OUT_OF_MEMORY, "the process is out of memory");
  } catch (const std::exception& error) {
    return failed(POLYPATH_INTERNAL_ERROR, error.what());
  } catch (...) {
    return failed(POLYPATH_INTERNAL_ERROR, "an unknown exception");
  }
}

}  // namespace polypath::c
