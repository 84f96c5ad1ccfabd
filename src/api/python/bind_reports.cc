// Reports as JSON texts, and sizes as texts.

#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "api/python/bindings.h"
#include "bench/available_memory.h"
#include "bench/collective_reports.h"
#include "bench/jacobi_reports.h"
#include "bench/reports.h"
#include "context/calibration.h"
#include "context/experience_file.h"
#include "context/open.h"
#include "context/reports.h"
#include "core/interruption.h"
#include "core/text.h"
#include "machine/load_machine.h"
#include "plan/joint/patterns.h"

#ifndef POLYPATH_VERSION_TEXT
#define POLYPATH_VERSION_TEXT "unknown"
#endif

namespace nb = nanobind;
using namespace nb::literals;

namespace polypath::python {
namespace {

using Unlocked = nb::call_guard<nb::gil_scoped_release>;
using Report = std::string (*)(const std::string&, const bench::Progress&);

// Ctrl-C ends long computations, also without a progress callback.
void check_signals() {
  const nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
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

template <std::string (*report)(const std::string&)>
std::string interruptible(const std::string& request) {
  const Interruptible watched(check_signals);
  return report(request);
}

template <Report report>
std::string with_progress(const std::string& request, const std::optional<nb::callable>& callback) {
  const bench::Progress progress = progress_of(callback);
  const Interruptible watched(check_signals);
  const nb::gil_scoped_release unlocked;
  return report(request, progress);
}

void bind_facts(nb::module_& module) {
  module.def(
      "version", [] { return POLYPATH_VERSION_TEXT; }, "Return the version of the library.");
  module.def("machines", &machines_report,
             "Return a list of {name, description, gpus, hosts}: the machines that come along.");
  module.def(
      "machine",
      [](const std::string& name) {
        return machine_to_json(choose_machine(name, read_settings()).machine);
      },
      "name"_a = "", "Return a machine as schema polypath.machine/1, without patterns.");
  module.def(
      "chosen",
      [](const std::string& name) {
        const ChosenMachine chosen = choose_machine(name, read_settings());
        return std::pair(!chosen.simulated, chosen.note);
      },
      "machine"_a = "",
      "Return whether that choice, or none, is this computer's GPUs, and a line for people.");
  module.def("settings", &settings_report,
             "Return a list of {variable, value, default, meaning}: the POLYPATH_* settings.");
}

std::vector<std::string> collective_names() {
  std::vector<std::string> names;
  for (const Collective each : all_collectives()) names.emplace_back(name_of(each));
  return names;
}

void bind_plans(nb::module_& module) {
  module.def("plan", &interruptible<&bench::plan_report>, "request"_a, Unlocked(),
             R"(Return how a transfer would run: schema polypath.plan/1 with a "timeline".)");
  module.def("joint_plan", &interruptible<&bench::joint_plan_report>, "request"_a, Unlocked(),
             "Return how several transfers would run together: schema polypath.joint_plan/1.");
  module.def("patterns", &pattern_names,
             "Return the names of the sets of transfers that joint_plan knows.");
  module.def("collective_plan", &interruptible<&bench::collective_plan_report>, "request"_a,
             Unlocked(), "Return how a collective would run: schema polypath.collective_plan/1.");
  module.def("collectives", &collective_names, "Return the names of the collectives.");
  module.def("trace", &interruptible<&bench::trace_report>, "request"_a, Unlocked(),
             "Run one transfer and return its timeline as Chrome trace events.");
}

// The signatures say what progress takes, which the C++ type does not.
void bind_measurements(nb::module_& module) {
  module.def(
      "bench", &with_progress<&bench::bench_report>, "request"_a, "progress"_a = nb::none(),
      nb::sig("def bench(request: str, progress: collections.abc.Callable[[int, int], None] "
              "| None = None) -> str"),
      "Measure an operation: schema polypath.bench/1; progress is called with (done, total).");
  module.def(
      "collective_bench", &with_progress<&bench::collective_bench_report>, "request"_a,
      "progress"_a = nb::none(),
      nb::sig("def collective_bench(request: str, progress: collections.abc.Callable[[int, int], "
              "None] | None = None) -> str"),
      "Measure a collective: schema polypath.bench/1; progress is called with (done, total).");
  module.def(
      "jacobi_bench", &with_progress<&bench::jacobi_bench_report>, "request"_a,
      "progress"_a = nb::none(),
      nb::sig("def jacobi_bench(request: str, progress: collections.abc.Callable[[int, int], "
              "None] | None = None) -> str"),
      "Measure a Jacobi solver: schema polypath.bench/1; progress is called with (done, total).");
  module.def("tune", &with_progress<&bench::tune_report>, "request"_a, "progress"_a = nb::none(),
             nb::sig("def tune(request: str, progress: collections.abc.Callable[[int, int], None] "
                     "| None = None) -> str"),
             "Search the best static plans: schema polypath.tuned/1.");
  module.def(
      "calibrate", &with_progress<&calibrate_report>, "machine"_a = "", "progress"_a = nb::none(),
      nb::sig("def calibrate(machine: str = '', progress: "
              "collections.abc.Callable[[int, int], None] | None = None) -> str"),
      R"(Measure a machine and keep the result: schema polypath.calibration/1 with "calibrated".

Without a name it is POLYPATH_MACHINE, else this computer's GPUs.)");
  module.def("calibration", &calibration_report, "machine"_a = "",
             "Return an earlier calibration: schema polypath.calibration/1; empty without one.");
  module.def("learnt", &learnt_report, "machine"_a = "",
             "Return what transfers have taught: schema polypath.learnt/1; empty without any.");
}

void bind_sizes(nb::module_& module) {
  module.def(
      "parse_bytes", [](const std::string& text) { return parse_bytes(text).value; }, "text"_a,
      R"(Return the bytes of "64M", "1GiB" or "4096"; K, M, G and T are powers of 1024.)");
  module.def(
      "format_bytes", [](std::uint64_t count) { return format_bytes({count}); }, "count"_a,
      R"(Return the shortest exact form that parse_bytes reads back: "64M", "4097".)");
  module.def(
      "describe_bytes", [](std::uint64_t count) { return describe_bytes({count}); }, "count"_a,
      R"(Return a size for people: "64 MiB", "1.5 KiB", "123 B".)");
  module.def(
      "free_memory", [] { return bench::free_memory().value; },
      "Return the bytes of this computer's memory that are left, in a container as well.");
  module.def(
      "describe_seconds", [](double seconds) { return describe_seconds(Seconds{seconds}); },
      "seconds"_a, R"(Return a time for people: "12.3 us", "4.567 ms", "1.234 s", "never".)");
  module.def(
      "describe_bandwidth", [](double rate) { return describe_bandwidth({rate}); },
      "bytes_per_second"_a, R"(Return a rate in bytes/s for people: "393 GB/s", "8.25 GB/s".)");
}

}  // namespace

void bind_reports(nb::module_& module) {
  bind_facts(module);
  bind_plans(module);
  bind_measurements(module);
  bind_sizes(module);
}

}  // namespace polypath::python
