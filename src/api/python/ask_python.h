#pragma once
// Functions of the program's that are called from C++, by threads without the interpreter's lock.

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

#include "core/error.h"

namespace polypath::python {

using Function = std::shared_ptr<nanobind::object>;

/// The last one to use it may be a thread without the interpreter's lock.
inline Function shared(nanobind::object object) {
  return {new nanobind::object(std::move(object)), [](nanobind::object* last) {
            const nanobind::gil_scoped_acquire locked;
            delete last;
          }};
}

/// A Python exception becomes an error, with the same text; Ctrl-C is passed on unchanged.
template <class Call>
auto ask_python(Call call) {
  const nanobind::gil_scoped_acquire locked;
  try {
    return call();
  } catch (const nanobind::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;
    fail(ErrorCode::communicator, "the ranks cannot exchange what they know of each other",
         error.what(), "Correct the function that was given for it.");
  } catch (const nanobind::cast_error&) {
    fail(ErrorCode::communicator, "the ranks cannot exchange what they know of each other",
         "the function that was given for it does not return bytes", "Correct it.");
  }
}

/// A Python exception becomes an error of nothing but its text.
template <class Call>
void call_python(Call call) {
  const nanobind::gil_scoped_acquire locked;
  try {
    call();
  } catch (const nanobind::python_error& error) {
    throw Error(ErrorCode::communicator, nanobind::str(error.value()).c_str());
  }
}

}  // namespace polypath::python
