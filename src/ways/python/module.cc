// The extension module polypath._core: the engine for Python, and JSON reports for the command
// line.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bench/reports.h"
#include "core/error.h"
#include "core/text.h"
#include "context/context.h"
#include "machine/library.h"
#include "probe/report.h"
#include "ways/python/buffer.h"

#ifndef POLYPATH_VERSION_TEXT
#define POLYPATH_VERSION_TEXT "unknown"
#endif

namespace nb = nanobind;
using namespace nb::literals;

namespace polypath::python {
namespace {

// polypath.Error carries the code beside the message.
void raise_error(const std::exception_ptr& pointer, void* type) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& error) {
    const nb::object kind = nb::borrow(static_cast<PyObject*>(type));
    const nb::object raised = kind(error.what());
    raised.attr("code") = name_of(error.code());
    PyErr_SetObject(kind.ptr(), raised.ptr());
  }
}

// Progress is called with the interpreter's lock, the work around it runs without.
bench::Progress progress_of(const std::optional<nb::callable>& callback) {
  if (!callback) return {};
  return [callback](int done, int total) {
    const nb::gil_scoped_acquire lock;
    (*callback)(done, total);
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  };
}

std::string with_progress(std::string (*report)(const std::string&, const bench::Progress&),
                          const std::string& request, const std::optional<nb::callable>& callback) {
  const bench::Progress progress = progress_of(callback);
  const nb::gil_scoped_release unlocked;
  return report(request, progress);
}

void bind_reports(nb::module_& module) {
  module.def("version", [] { return POLYPATH_VERSION_TEXT; });
  module.def("machines", &bench::machines_report);
  module.def(
      "chosen",
      [](const std::string& name) {
        const ChosenMachine chosen = choose_machine(name, read_settings());
        return std::pair(chosen.gpus != nullptr, chosen.note);
      },
      "machine"_a = "",
      "Whether that choice, or none, stands for this computer's GPUs, and a line for people.");
  module.def("machine", [](const std::string& name) {
    return machine_to_json(choose_machine(name, read_settings()).machine);
  });
  module.def("settings", &bench::settings_report);
  module.def("plan", nb::overload_cast<const std::string&>(&bench::plan_report), "request"_a);
  module.def("trace", nb::overload_cast<const std::string&>(&bench::trace_report), "request"_a);
  module.def(
      "bench",
      [](const std::string& request, const std::optional<nb::callable>& progress) {
        return with_progress(&bench::bench_report, request, progress);
      },
      "request"_a, "progress"_a = nb::none());
  module.def(
      "tune",
      [](const std::string& request, const std::optional<nb::callable>& progress) {
        return with_progress(&bench::tune_report, request, progress);
      },
      "request"_a, "progress"_a = nb::none());
  module.def(
      "calibrate",
      [](const std::string& machine, const std::optional<nb::callable>& progress) {
        return with_progress(&probe::calibrate_report, machine, progress);
      },
      "machine"_a = "", "progress"_a = nb::none());
  module.def("calibration", &probe::calibration_report, "machine"_a = "");
  module.def("parse_bytes", [](const std::string& text) { return parse_bytes(text).value; });
  module.def("format_bytes", [](std::uint64_t count) { return format_bytes({count}); });
}

nb::dict statistics_of(const Statistics& counted) {
  nb::dict result;
  result["transfers"] = counted.transfers;
  result["native"] = counted.native;
  result["streams"] = counted.streams;
  result["graphs"] = counted.graphs;
  result["pageable"] = counted.pageable;
  result["fallbacks"] = counted.fallbacks;
  result["errors"] = counted.errors;
  result["graph_hits"] = counted.graph_hits;
  result["graph_updates"] = counted.graph_updates;
  result["graph_instantiations"] = counted.graph_instantiations;
  result["graph_evictions"] = counted.graph_evictions;
  result["bytes"] = counted.bytes.value;
  result["staged_bytes"] = counted.staged_bytes.value;
  return result;
}

PlanOptions options_of(const std::string& executor, const std::vector<std::string>& paths,
                       const std::map<std::string, double>& shares,
                       const std::map<std::string, int>& chunks) {
  PlanOptions options;
  options.executor = parse_executor(executor);
  options.paths = paths;
  options.shares = shares;
  options.chunks = chunks;
  return options;
}

void bind_streams_and_buffers(nb::module_& module) {
  nb::class_<Stream>(module, "Stream",
                     "A stream of a GPU: work on it runs in order. Made by Context.stream.")
      .def("synchronize", &Stream::synchronize, nb::call_guard<nb::gil_scoped_release>(),
           "Wait until all work on the stream has finished.")
      .def("__repr__",
           [](const Stream& stream) { return "<polypath.Stream of " + stream.gpu + ">"; });
  nb::class_<Buffer>(module, "Buffer",
                     "Memory at a place of the machine. Made by Context.allocate; freed with the "
                     "last reference, once nothing queued uses it.")
      .def_prop_ro("nbytes", [](const Buffer& buffer) { return buffer.size.value; })
      .def_prop_ro("place", [](const Buffer& buffer) { return buffer.place; })
      .def_prop_ro("address", [](const Buffer& buffer) { return buffer.address.value; })
      .def("__repr__",
           [](const Buffer& buffer) {
             return "<polypath.Buffer of " + format_bytes(buffer.size) + " at " + buffer.place +
                    ">";
           })
      .def(
          "numpy", [](nb::handle self) { return Buffer::array(self); },
          "The bytes as a NumPy array of uint8, without a copy: of host memory, and of all memory "
          "of simulated machines. Synchronize the streams that use the buffer first.");
}

void bind_context(nb::module_& module) {
  nb::class_<Holder>(module, "Context",
                     "Copies on one machine: 'h200x4', 'synthetic:7', a file; '' for the default. "
                     "With trace=True it keeps the timeline of all copies.")
      .def(nb::init<const std::string&, bool>(), "machine"_a = "", "trace"_a = false,
           nb::call_guard<nb::gil_scoped_release>())
      .def("allocate", &Holder::allocate, "place"_a, "nbytes"_a,
           "Memory of a GPU, or pinned memory of a host.")
      .def("stream", &Holder::stream, "gpu"_a, "A new stream of a GPU.")
      .def(
          "copy",
          [](Holder& holder, Buffer& destination, Buffer& source,
             std::optional<std::uint64_t> nbytes, std::uint64_t destination_offset,
             std::uint64_t source_offset, const Stream* stream, const std::string& executor,
             const std::vector<std::string>& paths, const std::map<std::string, double>& shares,
             const std::map<std::string, int>& chunks) {
            return holder.copy(destination, source, nbytes, destination_offset, source_offset,
                               stream, options_of(executor, paths, shares, chunks));
          },
          "destination"_a, "source"_a, "nbytes"_a = nb::none(), nb::kw_only(),
          "destination_offset"_a = 0, "source_offset"_a = 0, "stream"_a.none() = nb::none(),
          "executor"_a = "auto", "paths"_a = std::vector<std::string>{},
          "shares"_a = std::map<std::string, double>{}, "chunks"_a = std::map<std::string, int>{},
          "Enqueue a copy of `nbytes` (default: as much as fits) and return how it runs: 'native', "
          "'stream' or 'graph'. On `stream` it starts after what is there and ends before what "
          "comes next; without one the call waits until it is done.")
      .def(
          "copy_addresses",
          [](Holder& holder, std::uintptr_t destination, std::uintptr_t source,
             std::uint64_t nbytes, const std::string& gpu, const nb::object& stream,
             const std::vector<StreamArgument>& beside) {
            return holder.copy_addresses(destination, source, nbytes, {gpu, stream}, beside);
          },
          "destination"_a, "source"_a, "nbytes"_a, "gpu"_a, "stream"_a, nb::kw_only(),
          "beside"_a = std::vector<StreamArgument>{},
          "Enqueue a copy between memories that others have allocated on a stream of `gpu`, and "
          "return how it runs. In order with the (gpu, stream) pairs of `beside` too.")
      .def("place_of", &Holder::place_of, "address"_a,
           "The place whose memory is at the address, such as 'gpu0'.")
      .def_prop_ro("simulated", &Holder::simulated)
      .def("plan", &Holder::plan, "source"_a, "destination"_a, "nbytes"_a,
           "The plan between two places as a dictionary of schema polypath.plan/1.")
      .def("close", &Holder::close,
           "Wait for copies without a stream; calls after that are refused.")
      .def("__enter__", [](nb::object self) { return self; })
      .def(
          "__exit__", [](Holder& holder, nb::handle, nb::handle, nb::handle) { holder.close(); },
          "kind"_a.none(), "error"_a.none(), "traceback"_a.none())
      .def("__repr__", &Holder::describe)
      .def("now", &Holder::now, "Seconds on the machine's clock; virtual when simulated.")
      .def("trace", &Holder::trace, "The timeline so far as JSON that Perfetto opens.")
      .def("violations", &Holder::violations,
           "Races and other misuse that the simulated driver has found.")
      .def("statistics", [](Holder& holder) { return statistics_of(holder.statistics()); });
}

}  // namespace
}  // namespace polypath::python

NB_MODULE(_core, module) {
  static const nb::object error =
      nb::exception<polypath::Error>(module, "Error", PyExc_RuntimeError);
  nb::register_exception_translator(polypath::python::raise_error, error.ptr());
  polypath::python::bind_reports(module);
  polypath::python::bind_streams_and_buffers(module);
  polypath::python::bind_context(module);
}
