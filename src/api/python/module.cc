// The extension module polypath._core: the engine for Python, and JSON reports for the command
// line.

#include <nanobind/nanobind.h>

#include <cstring>

#include "api/python/bindings.h"
#include "core/error.h"

namespace nb = nanobind;

namespace polypath::python {
namespace {

// polypath.Error carries the code beside the message. A quoted text in a message may have any
// bytes; Python keeps such bytes in file names in this way.
void raise_error(const std::exception_ptr& pointer, void* type) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& error) {
    const nb::object kind = nb::borrow(static_cast<PyObject*>(type));
    const auto length = static_cast<Py_ssize_t>(std::strlen(error.what()));
    const auto message = nb::steal(PyUnicode_DecodeUTF8(error.what(), length, "surrogateescape"));
    const nb::object raised = kind(message);
    raised.attr("code") = name_of(error.code());
    PyErr_SetObject(kind.ptr(), raised.ptr());
  }
}

// A daemon thread keeps its objects when the interpreter ends: nanobind would report all of them as
// leaks, though they are none.
void expect_what_threads_hold() {
  const auto threading = nb::module_::import_("threading");
  if (nb::cast<int>(threading.attr("active_count")()) > 1) nb::set_leak_warnings(false);
}

}  // namespace
}  // namespace polypath::python

NB_MODULE(_core, module) {
  module.doc() =
      R"(The engine, and reports as JSON texts; polypath.reports makes dictionaries of them.

scripts/write_stub.py writes this stub; src/api/python has what it is made of.)";
  static const nb::object error =
      nb::exception<polypath::Error>(module, "Error", PyExc_RuntimeError);
  error.attr("__doc__") =
      "What every function of this package raises; the message says what to do.";
  nb::register_exception_translator(polypath::python::raise_error, error.ptr());
  nb::module_::import_("atexit").attr("register")(
      nb::cpp_function(polypath::python::expect_what_threads_hold));
  polypath::python::bind_reports(module);
  polypath::python::bind_streams_and_buffers(module);
  polypath::python::bind_context(module);
  polypath::python::bind_collectives(module);
}
