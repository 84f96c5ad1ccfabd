// Collectives: one rank's end, and the ways by which ranks find one another.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "api/python/ask_python.h"
#include "api/python/bindings.h"
#include "api/python/called_messages.h"
#include "api/python/closing.h"
#include "api/python/collective_rank.h"
#include "api/python/ctrl_c.h"
#include "api/python/mpi_messages.h"
#include "api/python/tensor_calls.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace polypath::python {
namespace {

using RankPointer = std::unique_ptr<CollectiveRank>;

Seconds timeout_of(const Context& context, std::optional<double> timeout) {
  const double seconds = timeout.value_or(context.opened().settings().communicator_timeout);
  if (seconds > 0) return Seconds{seconds};
  throw nb::value_error("a timeout is not a time (it is 0, negative or no number) Give seconds.");
}

RankPointer by_file(const Holder& holder, const RankPlace& place, const std::string& folder,
                    int rank, int size, std::optional<double> timeout) {
  const ContextPointer context = holder.context();
  const Seconds longest = timeout_of(*context, timeout);
  const nb::gil_scoped_release unlocked;
  const EndsByCtrlC ends_by_ctrl_c;
  return std::make_unique<CollectiveRank>(context, place,
                                          bootstrap_by_file(folder, rank, size, longest), longest);
}

RankPointer by_address(const Holder& holder, const RankPlace& place, const std::string& address,
                       int rank, int size, std::optional<double> timeout) {
  const ContextPointer context = holder.context();
  const Seconds longest = timeout_of(*context, timeout);
  const nb::gil_scoped_release unlocked;
  const EndsByCtrlC ends_by_ctrl_c;
  return std::make_unique<CollectiveRank>(
      context, place, bootstrap_by_address(address, rank, size, longest), longest);
}

RankPointer by_threads(const Holder& holder, const RankPlace& place, ThreadGroup& meeting, int rank,
                       std::optional<double> timeout) {
  const ContextPointer context = holder.context();
  const Seconds longest = timeout_of(*context, timeout);
  const nb::gil_scoped_release unlocked;
  auto made = std::make_unique<CollectiveRank>(context, place, meeting.enter(rank), longest);
  made->end_beside();
  return made;
}

std::vector<Blob> gathered(const nb::object& function, const Blob& mine) {
  return ask_python([&] {
    std::vector<Blob> all;
    for (nb::handle each : function(nb::bytes(mine.data(), mine.size()))) {
      const auto given = nb::cast<nb::bytes>(each);
      all.emplace_back(static_cast<const char*>(given.data()), given.size());
    }
    return all;
  });
}

BootstrapFunctions rounds_by(const Function& all_gather) {
  return {
      .all_gather = [all_gather](const Blob& mine, Seconds) { return gathered(*all_gather, mine); },
      .split = {}};
}

// Ranks are divided by nodes, and a node is not divided: one split is enough, and it includes every
// rank.
BootstrapFunctions functions_by(const Function& all_gather, const Function& split) {
  BootstrapFunctions functions = rounds_by(all_gather);
  functions.split = [split](const Subgroup& group) {
    return rounds_by(ask_python([&] {
      nb::list members;
      for (const int member : group.members) members.append(member);
      return shared((*split)(group.color, group.rank, members));
    }));
  };
  return functions;
}

RankPointer by_function(const Holder& holder, const RankPlace& place, nb::object all_gather,
                        nb::object split, int rank, int size,
                        std::shared_ptr<OwnMessages> messages) {
  const ContextPointer context = holder.context();
  const Function gather = shared(std::move(all_gather)), divide = shared(std::move(split));
  const nb::gil_scoped_release unlocked;
  return std::make_unique<CollectiveRank>(
      context, place, bootstrap_by_functions(functions_by(gather, divide), rank, size),
      timeout_of(*context, std::nullopt), std::move(messages));
}

// Names become what they stand for once, however often the call is made.
void make_call(PersistentCall* call, const std::string& collective, const std::string& type,
               const std::string& reduction, int root, std::uint64_t elements, std::uintptr_t input,
               std::uintptr_t output, std::vector<std::uint64_t> counts, bool in_place) {
  new (call) PersistentCall({.collective = parse_collective(collective),
                             .reduction = {.operation = parse_reduce_operator(reduction),
                                           .type = parse_element_type(type)},
                             .root = root,
                             .elements = elements,
                             .input = {input},
                             .output = {output},
                             .counts = std::move(counts),
                             .in_place = in_place});
}

void barrier(CollectiveRank& rank, const nb::object& stream) {
  if (stream.is_none()) rank.barrier();
  else rank.barrier(stream);
}

void bind_meetings(nb::class_<CollectiveRank>& rank) {
  rank.def_static("by_file", &by_file, "context"_a, "place"_a, "folder"_a, "rank"_a, "size"_a,
                  "timeout"_a = nb::none(),
                  "Join ranks that share a folder; `timeout` seconds are for the others to come.")
      .def_static("by_address", &by_address, "context"_a, "place"_a, "address"_a, "rank"_a,
                  "size"_a, "timeout"_a = nb::none(),
                  "Join ranks by TCP, of which rank 0 listens at HOST:PORT.")
      .def_static("by_threads", &by_threads, "context"_a, "place"_a, "meeting"_a, "rank"_a,
                  "timeout"_a = nb::none(), "Join ranks that are threads of this process.")
      .def_static("by_function", &by_function, "context"_a, "place"_a, "all_gather"_a, "split"_a,
                  "rank"_a, "size"_a, "messages"_a = nb::none(),
                  nb::sig("def by_function(context: Context, place: RankPlace, all_gather: "
                          "collections.abc.Callable[[bytes], collections.abc.Iterable[bytes]], "
                          "split: collections.abc.Callable[[int, int, list[int]], "
                          "collections.abc.Callable[[bytes], collections.abc.Iterable[bytes]]], "
                          "rank: int, size: int, messages: OwnMessages | None = None) "
                          "-> CollectiveRank"),
                  R"(Join ranks by a function that gives the bytes of all for each rank's own.

`split` gives such a function for the ranks of a node: of its number, of this rank's number there
and of the ranks that are its members. All ranks call it, if there are several nodes. `messages` go
between nodes, if all ranks have some; else TCP's do.)");
}

// By name, the bytes of each and whether it can be reduced.
nb::dict element_types() {
  nb::dict types;
  for (const auto* some : {&all_element_types(), &moved_element_types()})
    for (const ElementType type : *some)
      types[name_of(type)] = nb::make_tuple(bytes_of(type).value, !only_moves(type));
  return types;
}

std::optional<std::string> find_type(const std::string& name) {
  const auto found = find_element_type(name);
  return found ? std::optional<std::string>(name_of(*found)) : std::nullopt;
}

void bind_types(nb::module_& module) {
  module.def("element_types", &element_types,
             nb::sig("def element_types() -> dict[str, tuple[int, bool]]"),
             "Return types of elements: the bytes of each, and whether it can be reduced.");
  module.def("find_element_type", &find_type, "name"_a,
             "Return the name here of a type that others call \"bf16\", \"torch.half\" or \"<f4\"; "
             "None of one that there is not.");
}

void bind_place(nb::module_& module) {
  nb::class_<RankPlace>(module, "RankPlace", "Where a rank is; what is empty is found.")
      .def(
          "__init__",
          [](RankPlace* place, std::string gpu, std::string node, std::string host) {
            new (place) RankPlace{std::move(gpu), std::move(node), std::move(host)};
          },
          "gpu"_a = "", "node"_a = "", "host"_a = "",
          "A GPU's name, what its node is called, by which host other nodes reach it.");
}

void bind_messages(nb::module_& module) {
  nb::class_<OwnMessages>(module, "OwnMessages",
                          "What the program's own library has for messages between nodes.")
      .def(nb::init<std::string>(), "why_not"_a, "Have none, for a reason.");
  nb::class_<MpiMessages, OwnMessages>(module, "MpiMessages", "Those of mpi4py's MPI.")
      .def(nb::init<std::string, nb::object>(), "module"_a, "split"_a,
           nb::sig("def __init__(self, module: str, split: collections.abc.Callable[[], int]) "
                   "-> None"),
           "Use the MPI of a module's file; `split` returns the handle of a new communicator of "
           "all ranks.")
      .def_static("end", &MpiMessages::end, nb::call_guard<nb::gil_scoped_release>(),
                  "MPI is about to end: nothing calls it any more.");
  nb::class_<CalledMessages, OwnMessages>(module, "CalledMessages", "Those of functions that wait.")
      .def(nb::init<std::string, nb::object>(), "carrier"_a, "make"_a,
           nb::sig("def __init__(self, carrier: str, make: collections.abc.Callable[[], object]) "
                   "-> None"),
           R"(Use what `make` returns: send(to, lane, memory), receive(from, lane, memory), stop().

Each waits until it is done, in threads of their own for each rank, lane and direction.)");
}

void bind_call(nb::module_& module) {
  nb::class_<PersistentCall>(module, "PersistentCall",
                             "What one rank asks for, and where its memory is; to be run often.")
      .def("__init__", &make_call, "collective"_a, "type"_a, "reduction"_a, "root"_a, "elements"_a,
           "input"_a, "output"_a, "counts"_a, "in_place"_a,
           R"(Read the names; the counts are those of request.h.

Equal addresses are in place; alltoallv, which alone has counts, says so.)");
}

void bind_tensor_calls(nb::module_& module) {
  nb::class_<TensorCalls>(module, "TensorCalls",
                          "Calls of PyTorch's tensors that have been checked, to be run often.")
      .def(
          "__init__",
          [](TensorCalls* calls, nb::object rank, int gpu, nb::object tensor, nb::object note_write,
             nb::object is_grad_enabled, nb::object current_stream) {
            new (calls) TensorCalls(std::move(rank), gpu,
                                    {std::move(tensor), std::move(note_write),
                                     std::move(is_grad_enabled), std::move(current_stream)});
          },
          "rank"_a, "gpu"_a, "tensor"_a, "note_write"_a.none(), "is_grad_enabled"_a,
          "current_stream"_a = nb::none(),
          nb::sig("def __init__(self, rank: CollectiveRank, gpu: int, tensor: type, "
                  "note_write: collections.abc.Callable[[typing.Any], object] | None, "
                  "is_grad_enabled: collections.abc.Callable[[], bool], "
                  "current_stream: collections.abc.Callable[[int], int | Stream] | None = None) "
                  "-> None"),
          R"(Use a rank, the class of tensors and functions of PyTorch.

The class has what DLPack calls a C exchange API; Error if not. That knows the current stream if
`current_stream` is None.)")
      .def("keep", &TensorCalls::keep, "what"_a, "tensor"_a, "output"_a.none(), "call"_a,
           nb::sig("def keep(self, what: collections.abc.Hashable, tensor: typing.Any, "
                   "output: typing.Any, call: PersistentCall) -> None"),
           "Remember a call; what it asks for is compared by its value.")
      .def("run", &TensorCalls::run, "what"_a, "tensor"_a, "output"_a.none(),
           nb::sig("def run(self, what: collections.abc.Hashable, tensor: typing.Any, "
                   "output: typing.Any) -> bool"),
           "Enqueue the call on the current stream; do nothing and return False if it is not "
           "remembered.");
}

void bind_calls(nb::class_<CollectiveRank>& rank) {
  rank.def("run", nb::overload_cast<PersistentCall&, nb::handle>(&CollectiveRank::run), "call"_a,
           "stream"_a, nb::sig("def run(self, call: PersistentCall, stream: int | Stream) -> None"),
           "Enqueue this rank's part. The first of its kind and size waits for all ranks.")
      .def(
          "prepare",
          [](CollectiveRank& own, const PersistentCall& call) { own.prepare(call.call()); },
          "call"_a, "Make what such calls need, and enqueue nothing. Waits for all ranks.")
      .def(
          "chosen",
          [](CollectiveRank& own, const PersistentCall& call) { return own.chosen(call.call()); },
          "call"_a, nb::sig("def chosen(self, call: PersistentCall) -> dict[str, typing.Any]"),
          "Return what was chosen for a call that has been prepared.")
      .def("choose_from", &CollectiveRank::choose_from, "algorithms"_a, "executor"_a = "auto",
           "Allow these algorithms only. The same at all ranks, before the first call.")
      .def("barrier", &barrier, "stream"_a = nb::none(),
           nb::sig("def barrier(self, stream: int | Stream | None = None) -> None"),
           "Wait until all ranks are here, or let a stream wait for those of all ranks.")
      .def("await_messages", &CollectiveRank::await_messages,
           "Wait for all ranks, and until no message between nodes is under way.")
      .def("synchronize", &CollectiveRank::synchronize,
           "Wait for what this rank has enqueued; Error for what any rank has found to be wrong.")
      .def("finish_call", &CollectiveRank::finish_call, "stream"_a,
           "Wait for the stream of a call that waits for its own end; errors are the call's.")
      .def("close", &CollectiveRank::close,
           "End this rank when its work is done and all other ranks end, too; Error if something "
           "is wrong that no call has raised.")
      .def("abandon", &CollectiveRank::abandon, "why"_a,
           "End this rank without waiting: calls of the others fail and say why.")
      .def_static(
          "close_all",
          [](const std::vector<CollectiveRank*>& ranks) {
            return Closing::of_process().finish(ranks);
          },
          "ranks"_a,
          R"(End several ranks of this process, each as close does, and those that were dropped.

Return what the program has not been told of, in words.)");
}

}  // namespace

void bind_collectives(nb::module_& module) {
  nb::class_<ThreadGroup>(module, "ThreadGroup",
                          "Where ranks that are threads of one process meet.")
      .def(nb::init<int>(), "size"_a)
      .def_prop_ro("size", &ThreadGroup::size, "How many ranks meet.");
  bind_types(module);
  bind_place(module);
  bind_messages(module);
  bind_call(module);
  nb::class_<CollectiveRank> rank(
      module, "CollectiveRank", "One rank's end of collectives; polypath.Collectives is over it.");
  bind_meetings(rank);
  bind_calls(rank);
  bind_tensor_calls(module);
  prepare_exit_status();
  module.def("fail_at_exit", &fail_at_exit,
             "Let this program's status be 1 where it would be 0, once everything else has ended.");
  rank.def_prop_ro("rank", &CollectiveRank::rank, "This rank.")
      .def_prop_ro("size", &CollectiveRank::size, "How many ranks there are.")
      .def_prop_ro("nodes", &CollectiveRank::nodes, "On how many nodes they are.")
      .def_prop_ro("gpu", &CollectiveRank::gpu, "This rank's GPU.")
      .def_prop_ro("carrier", &CollectiveRank::carrier,
                   "What carries messages between nodes; empty on one.");
}

}  // namespace polypath::python
