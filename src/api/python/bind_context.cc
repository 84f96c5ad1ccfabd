// Contexts, and the buffers and streams that they make.

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "api/python/bindings.h"
#include "api/python/buffer.h"
#include "context/context.h"
#include "core/text.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace polypath::python {
namespace {

using Unlocked = nb::call_guard<nb::gil_scoped_release>;

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

std::string copy(Holder& holder, OwnedBuffer& destination, OwnedBuffer& source,
                 std::optional<std::uint64_t> nbytes, std::uint64_t destination_offset,
                 std::uint64_t source_offset, const Stream* stream, const std::string& executor,
                 const std::vector<std::string>& paths, const std::map<std::string, double>& shares,
                 const std::map<std::string, int>& chunks) {
  return holder.copy(destination, source, nbytes, destination_offset, source_offset, stream,
                     options_of(executor, paths, shares, chunks));
}

std::string copy_addresses(Holder& holder, std::uintptr_t destination, std::uintptr_t source,
                           std::uint64_t nbytes, const std::string& gpu, const nb::object& stream,
                           const std::vector<StreamArgument>& beside) {
  return holder.copy_addresses(destination, source, nbytes, {gpu, stream}, beside);
}

std::vector<std::string> copy_many(Holder& holder, const std::vector<BufferPair>& pairs,
                                   const Stream* stream, const std::string& executor) {
  return holder.copy_many(pairs, stream, options_of(executor, {}, {}, {}));
}

void bind_stream(nb::module_& module) {
  nb::class_<Stream>(module, "Stream",
                     "A stream of a GPU: work on it runs in order. Made by Context.stream.")
      .def("synchronize", &Stream::synchronize, Unlocked(),
           "Wait until all work on the stream has finished.")
      .def("__repr__",
           [](const Stream& stream) { return "<polypath.Stream of " + stream.gpu + ">"; });
}

void bind_buffer(nb::module_& module) {
  nb::class_<OwnedBuffer>(module, "Buffer",
                          R"(Memory at a place of the machine. Made by Context.allocate.

Freed with the last reference, once nothing queued uses it.)")
      .def_prop_ro(
          "nbytes", [](const OwnedBuffer& buffer) { return buffer.size.value; }, "Size in bytes.")
      .def_prop_ro(
          "place", [](const OwnedBuffer& buffer) { return buffer.place; },
          R"(Where it is, such as "gpu0".)")
      .def_prop_ro(
          "address", [](const OwnedBuffer& buffer) { return buffer.address.value; },
          "Where it starts.")
      .def("__repr__",
           [](const OwnedBuffer& buffer) {
             return "<polypath.Buffer of " + format_bytes(buffer.size) + " at " + buffer.place +
                    ">";
           })
      .def(
          "numpy", [](nb::handle self) { return OwnedBuffer::array(self); },
          R"(Return the bytes as an array, without a copy.

Of memory of the host, and of all memory of simulated machines; Error (unsupported) for a real
GPU's, which the host cannot reach. Synchronize the streams that use the buffer first.)");
}

void bind_copies(nb::class_<Holder>& context) {
  context
      .def("copy", &copy, "destination"_a, "source"_a, "nbytes"_a = nb::none(), nb::kw_only(),
           "destination_offset"_a = 0, "source_offset"_a = 0, "stream"_a.none() = nb::none(),
           "executor"_a = "auto", "paths"_a = std::vector<std::string>{},
           "shares"_a = std::map<std::string, double>{}, "chunks"_a = std::map<std::string, int>{},
           R"(Enqueue a copy of `nbytes` (default: as much as fits).

Return how it runs: "native", "stream" or "graph". On `stream` it starts after what is there and
ends before what comes next; without one the call waits until it is done. Offsets are bytes.
`executor`, `paths`, `shares` and `chunks` are as in polypath.reports.

Error (invalid argument) for what does not fit or belongs to another context.)")
      .def("copy_addresses", &copy_addresses, "destination"_a, "source"_a, "nbytes"_a, "gpu"_a,
           "stream"_a, nb::kw_only(), "beside"_a = std::vector<StreamArgument>{},
           nb::sig("def copy_addresses(self, destination: int, source: int, nbytes: int, gpu: str, "
                   "stream: int | Stream, *, "
                   "beside: collections.abc.Sequence[tuple[str, int | Stream]] = []) -> str"),
           R"(Enqueue a copy of `nbytes` between memories that others have allocated.

Return how it runs: "native", "stream" or "graph". It starts after what is on `stream`, a
stream of `gpu` by CUDA's handle or of this context, and ends before what comes next there;
the same holds for each (gpu, stream) of `beside`. With pageable memory at one end it blocks
until the source has been read, or every byte is there. Handles need real GPUs.)")
      .def("plan", &Holder::plan, "source"_a, "destination"_a, "nbytes"_a,
           nb::sig("def plan(self, source: str, destination: str, nbytes: int) "
                   "-> dict[str, typing.Any]"),
           "Return the plan between two places: a dictionary of schema polypath.plan/1.")
      .def("predict_native", &Holder::predict_native, "transfers"_a,
           nb::sig("def predict_native(self, transfers: collections.abc.Sequence[tuple[str, str, "
                   "int]]) -> float"),
           R"(Return the seconds that native copies take which start together.

Each is (source, destination, nbytes); "host" is the one nearest to the other end.)");
}

void bind_sets(nb::class_<Holder>& context) {
  context
      .def("copy_many", &copy_many, "pairs"_a, nb::kw_only(), "stream"_a.none() = nb::none(),
           "executor"_a = "auto",
           nb::sig("def copy_many(self, pairs: collections.abc.Sequence[tuple[Buffer, Buffer]], *, "
                   "stream: Stream | None = None, executor: str = 'auto') -> list[str]"),
           R"(Enqueue several copies that start together, planned together.

Each pair is a destination and its source; as much is copied as fits. Return how each runs, as
copy does. All start after what is on `stream` and end before what comes next; without one the
call waits until all are done. The bytes are what they would be one after another; copies between
different places run beside each other where none writes what another one reads or writes.

Error (invalid argument) as copy, before anything is enqueued.)")
      .def("copy_many_addresses", &Holder::copy_many_addresses, "copies"_a,
           nb::sig("def copy_many_addresses(self, copies: collections.abc.Sequence[tuple[int, int, "
                   "int, tuple[str, int | Stream], "
                   "collections.abc.Sequence[tuple[str, int | Stream]]]]) -> list[str]"),
           R"(Enqueue several copies between memories that others have allocated.

Each is (destination, source, nbytes, (gpu, stream), beside), with the meaning that these have in
copy_addresses; they run together as those of copy_many do. Return how each runs.)")
      .def("copy_pieces", &Holder::copy_pieces, "destinations"_a, "sources"_a, "sizes"_a,
           "stream"_a, "beside"_a = std::vector<StreamArgument>{},
           nb::sig("def copy_pieces(self, destinations: numpy.typing.NDArray[numpy.uint64], "
                   "sources: numpy.typing.NDArray[numpy.uint64], "
                   "sizes: numpy.typing.NDArray[numpy.uint64], stream: tuple[str, int | Stream], "
                   "beside: collections.abc.Sequence[tuple[str, int | Stream]] = []) "
                   "-> dict[str, int]"),
           R"(Enqueue as many copies as the arrays have elements, in order with the same streams.

They are those of copy_many_addresses, thousands of them without an object for each. Return how many
ran in each way.)");
}

void bind_lifetime(nb::class_<Holder>& context) {
  context
      .def("close", &Holder::close,
           R"(Wait for copies without a stream; calls after that are refused.

Buffers and streams that are still there stay as they are. The end of `with` does it, too.)")
      .def(
          "__enter__", [](nb::object self) { return self; },
          nb::sig("def __enter__(self) -> Context"))
      .def(
          "__exit__", [](Holder& holder, nb::handle, nb::handle, nb::handle) { holder.close(); },
          "kind"_a.none(), "error"_a.none(), "traceback"_a.none(),
          nb::sig("def __exit__(self, kind: object, error: object, traceback: object) -> None"));
}

void bind_observations(nb::class_<Holder>& context) {
  context
      .def("place_of", &Holder::place_of, "address"_a,
           R"(Return the place whose memory is at the address, such as "gpu0".)")
      .def("is_pageable", &Holder::is_pageable, "address"_a,
           "Return whether the driver does not know the host's memory at the address.")
      .def("nearest_host", &Holder::nearest_host, "gpu"_a,
           R"(Return the host place nearest to a GPU, such as "host0".)")
      .def_prop_ro("simulated", &Holder::simulated, "Whether the machine is simulated.")
      .def_prop_ro(
          "executor", &Holder::executor,
          R"(The executor of all copies, as the settings were at the opening: "auto" is usual.)")
      .def("__repr__", &Holder::describe)
      .def("now", &Holder::now, "Return seconds on the machine's clock; virtual when simulated.")
      .def("trace", &Holder::trace, nb::sig("def trace(self) -> dict[str, typing.Any]"),
           R"(Return the timeline so far as Chrome trace events, which Perfetto opens.

Its times are microseconds, as that format has them. Only with trace=True has it copies.)")
      .def("violations", &Holder::violations,
           "Return races and other misuse that the simulated driver has found.")
      .def(
          "statistics", [](Holder& holder) { return statistics_of(holder.statistics()); },
          nb::sig("def statistics(self) -> dict[str, int]"),
          "Return counts of transfers, executors, graph-cache hits, bytes and so on.");
}

}  // namespace

void bind_streams_and_buffers(nb::module_& module) {
  bind_stream(module);
  bind_buffer(module);
}

void bind_context(nb::module_& module) {
  nb::class_<Holder> context(
      module, "Context",
      R"(Copies on one machine: "h200x4", "synthetic:7", a file; "" for the default.

With trace=True it keeps the timeline of all copies.)");
  context.def(nb::init<const std::string&, bool>(), "machine"_a = "", "trace"_a = false, Unlocked())
      .def("allocate", &Holder::allocate, "place"_a, "nbytes"_a,
           "Return memory of a GPU, or pinned memory of a host.")
      .def("stream", &Holder::stream, "gpu"_a, "Return a new stream of a GPU.");
  bind_copies(context);
  bind_sets(context);
  bind_lifetime(context);
  bind_observations(context);
}

}  // namespace polypath::python
