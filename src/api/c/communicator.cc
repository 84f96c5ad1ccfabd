// Collectives of the C interface: one rank's end, and how ranks find one another.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/c/status.h"
#include "collective/make_collectives.h"
#include "collective/rank/checked_call.h"
#include "communicator/bootstrap/ranks.h"

using polypath::ErrorCode;
using polypath::fail;
using polypath::Seconds;
using polypath::c::address_of;
using polypath::c::Blob;
using polypath::c::Bootstrap;
using polypath::c::BootstrapFunctions;
using polypath::c::Collective;
using polypath::c::CollectiveCall;
using polypath::c::Collectives;
using polypath::c::context_of;
using polypath::c::ElementType;
using polypath::c::given;
using polypath::c::guarded;
using polypath::c::PersistentCall;
using polypath::c::ReduceOperator;

/// Calls of several threads take turns.
struct polypath_communicator {
  std::mutex mutex;
  std::unique_ptr<Collectives> ranks;
  polypath::c::Context* context = nullptr;
  polypath::PlaceId gpu;
  int process = getpid();  ///< that made it: a forked child must not touch what is the parent's
};

struct polypath_call {
  polypath_communicator* communicator;
  PersistentCall call;
};

namespace {

// Bytes of different lengths by a function that takes as many of each rank: first how many, then
// the bytes, up to the most.
class Rounds {
 public:
  Rounds(polypath_all_gather all_gather, void* user, int size)
      : all_gather_(all_gather), user_(user), size_(static_cast<std::size_t>(size)) {}

  std::vector<Blob> operator()(const Blob& mine) const {
    const std::uint64_t own = mine.size();
    std::vector<std::uint64_t> sizes(size_);
    exchange(&own, sizes.data(), sizeof own);
    const std::uint64_t most = *std::max_element(sizes.begin(), sizes.end());
    std::vector<Blob> blobs(size_);
    if (most == 0) return blobs;
    Blob padded = mine, all(size_ * most, '\0');
    padded.resize(most);
    exchange(padded.data(), all.data(), most);
    for (std::size_t rank = 0; rank < size_; ++rank)
      blobs[rank] = all.substr(rank * most, std::min(sizes[rank], most));
    return blobs;
  }

 private:
  void exchange(const void* mine, void* all, std::size_t bytes) const {
    if (const int status = all_gather_(mine, all, bytes, user_); status != 0)
      fail(ErrorCode::communicator, "the ranks cannot exchange what they know of each other",
           "the all-gather function returned " + std::to_string(status), "Correct it.");
  }

  polypath_all_gather all_gather_;
  void* user_;
  std::size_t size_;
};

// Ranks that share memory share a folder in it. There they wait for each other no longer than they
// should, which a function of the program's may not know.
std::unique_ptr<Bootstrap> in_memory(const Blob& name, int rank, int size, Seconds timeout) {
  return polypath::c::bootstrap_by_file("/dev/shm/polypath-group-" + name, rank, size, timeout);
}

// All ranks call this at the same time.
BootstrapFunctions of_node(const Rounds& rounds, const polypath::c::Subgroup& group,
                           Seconds timeout) {
  const std::vector<Blob> names = rounds(polypath::c::unique_name());
  if (group.color < 0) return {};
  const auto first = static_cast<std::size_t>(group.members.front());
  std::shared_ptr<Bootstrap> node = in_memory(names[first], group.rank, group.size(), timeout);
  return {.all_gather = [node](const Blob& mine,
                               Seconds longest) { return node->all_gather(mine, longest); },
          .split = {}};
}

std::unique_ptr<Bootstrap> bootstrap_by_callback(polypath_all_gather all_gather, void* user,
                                                 int rank, int size, Seconds timeout) {
  polypath::c::check_rank(rank, size);
  const Rounds rounds(all_gather, user, size);
  const Blob name = rounds(polypath::c::unique_name()).front();
  const std::vector<Blob> nodes = rounds(polypath::c::this_node());
  if (std::equal(nodes.begin() + 1, nodes.end(), nodes.begin()))
    return in_memory(name, rank, size, timeout);
  return polypath::c::bootstrap_by_functions(
      {.all_gather = [rounds](const Blob& mine, Seconds) { return rounds(mine); },
       .split =
           [rounds, timeout](const polypath::c::Subgroup& group) {
             return of_node(rounds, group, timeout);
           }},
      rank, size);
}

std::unique_ptr<Bootstrap> bootstrap_at(const std::string& where, int rank, int size,
                                        Seconds timeout) {
  return where.find('/') == std::string::npos
             ? polypath::c::bootstrap_by_address(where, rank, size, timeout)
             : polypath::c::bootstrap_by_file(where, rank, size, timeout);
}

Seconds timeout_of(const polypath::c::Context& context) {
  return polypath::c::communicator_options(context.opened().settings()).timeout;
}

polypath_communicator* join(polypath::c::Context& context, const char* gpu,
                            std::unique_ptr<Bootstrap> bootstrap) {
  const polypath::c::OpenMachine& opened = context.opened();
  auto made = std::make_unique<polypath_communicator>();
  made->context = &context;
  auto communicator = std::make_unique<polypath::c::Communicator>(
      std::move(bootstrap), polypath::c::communicator_options(opened.settings()));
  const auto computer = [&] {
    const polypath::c::OpenMachine& whole = polypath::c::whole_computer(opened.settings());
    return polypath::c::ranks_machine(whole, whole.driver());
  };
  std::string name = gpu == nullptr ? "" : gpu;
  made->ranks = polypath::c::make_collectives(polypath::c::ranks_machine(opened, opened.driver()),
                                              computer, name, std::move(communicator));
  made->gpu = opened.machine().find_place(name);
  return made.release();
}

Collectives& ranks_of(polypath_communicator* communicator) {
  const polypath_communicator& used = *given(communicator, "communicator");
  if (used.process != getpid())
    fail(ErrorCode::invalid_argument, "the communicator belongs to another process",
         "this one was forked from it", "Make one in this process.");
  return *used.ranks;
}

template <class Action>
void in_turn(polypath_communicator* communicator, Action action) {
  Collectives& ranks = ranks_of(communicator);
  const std::scoped_lock lock(communicator->mutex);
  action(ranks);
}

template <class Value, std::size_t kCount>
Value chosen(const std::array<Value, kCount>& values, int number, const char* what) {
  if (number >= 0 && static_cast<std::size_t>(number) < kCount)
    return values[static_cast<std::size_t>(number)];
  fail(ErrorCode::invalid_argument,
       std::string(what) + " " + std::to_string(number) + " is unknown",
       "it is no constant of polypath.h", "Pass one of those.");
}

ElementType type_of(polypath_type type) {
  using enum ElementType;
  static constexpr std::array kTypes{float32, float64, float16, bfloat16, int8,   int16,
                                     int32,   int64,   uint8,   uint16,   uint32, uint64};
  return chosen(kTypes, type, "type");
}

ReduceOperator operator_of(polypath_operator operation) {
  using enum ReduceOperator;
  static constexpr std::array kOperators{sum, minimum, maximum, product, average};
  return chosen(kOperators, operation, "operator");
}

Collective collective_of(polypath_collective collective) {
  using enum Collective;
  static constexpr std::array kCollectives{all_reduce, reduce,    reduce_scatter, all_gather,
                                           all_to_all, broadcast, all_to_all_v};
  return chosen(kCollectives, collective, "collective");
}

// What most operations do not need has a default.
polypath_call_description description(polypath_collective collective, const void* input,
                                      void* output, size_t count, polypath_type type,
                                      polypath_operator operation = POLYPATH_SUM, int root = 0,
                                      const uint64_t* counts = nullptr) {
  return {collective, input, output, count, type, operation, root, counts};
}

// Memory that the driver says nothing of may be of a kind of its own, such as mapped addresses.
void check_place(const polypath_communicator& of, polypath::c::Address address,
                 polypath::Bytes bytes, const char* what) {
  if (address.value == 0) return;
  const polypath::c::Machine& machine = of.context->machine();
  const auto memory = of.context->simulated() ? std::optional(of.context->memory_at(address))
                                              : of.context->opened().driver().find_memory(address);
  if (!memory || memory->kind == polypath::c::MemoryKind::managed) return;
  if (memory->place != of.gpu)
    fail(ErrorCode::invalid_argument,
         fmt::format("the {} is not on {}", what, machine.place(of.gpu).name),
         "it is memory of " + machine.place(memory->place).name, "Pass memory of this rank's GPU.");
  const std::uint64_t left = memory->base.value + memory->size.value - address.value;
  if (bytes.value > left)
    fail(ErrorCode::invalid_argument, fmt::format("the {} is too short", what),
         fmt::format("{} bytes are left in its allocation, the call needs {}", left, bytes.value),
         "Correct the count or the address.");
}

CollectiveCall call_of(const polypath_call_description& said, int size) {
  CollectiveCall call{.collective = collective_of(said.collective),
                      .reduction = {.type = type_of(said.type)},
                      .root = said.root,
                      .elements = said.count,
                      .input = address_of(said.input),
                      .output = address_of(said.output)};
  if (reduces(call.collective)) call.reduction.operation = operator_of(said.operation);
  if (call.collective != Collective::all_to_all_v) return call;
  call.counts.assign(given(said.counts, "counts"),
                     said.counts + static_cast<std::ptrdiff_t>(size) * size);
  call.in_place = call.input == call.output;
  return call;
}

// Counts that cannot be, and memory that a rank does not need, are left to those who know.
polypath::c::CallBytes bytes_needed(const CollectiveCall& call, const Collectives& ranks) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  const bool is_root = ranks.rank() == call.root;
  if (call.elements > kMost || call.collective == Collective::all_to_all_v) return {};
  auto needed = polypath::c::bytes_of_call(call, ranks.size(), ranks.rank());
  if (call.collective == Collective::reduce && !is_root) needed.output = {};
  if (call.collective == Collective::broadcast) (is_root ? needed.output : needed.input) = {};
  return needed;
}

CollectiveCall checked_call(const polypath_communicator& of,
                            const polypath_call_description& said) {
  CollectiveCall call = call_of(said, of.ranks->size());
  const auto needed = bytes_needed(call, *of.ranks);
  check_place(of, call.input, needed.input, "input");
  check_place(of, call.output, needed.output, "output");
  return call;
}

polypath_status run(polypath_communicator* communicator, const polypath_call_description& said,
                    polypath_stream stream) {
  return guarded([&] {
    in_turn(communicator,
            [&](Collectives& ranks) { ranks.run(checked_call(*communicator, said), {stream}); });
  });
}

}  // namespace

extern "C" {

polypath_status polypath_communicator_create(polypath_context* context, const char* gpu, int rank,
                                             int size, polypath_all_gather all_gather, void* user,
                                             polypath_communicator** communicator) {
  return guarded([&] {
    *given(communicator, "communicator") = nullptr;
    polypath::c::Context& used = context_of(context);
    if (all_gather == nullptr)
      fail(ErrorCode::invalid_argument, "all_gather is null", "the call needs it",
           "Pass a function.");
    *communicator =
        join(used, gpu, bootstrap_by_callback(all_gather, user, rank, size, timeout_of(used)));
  });
}

polypath_status polypath_communicator_join(polypath_context* context, const char* gpu, int rank,
                                           int size, const char* where,
                                           polypath_communicator** communicator) {
  return guarded([&] {
    *given(communicator, "communicator") = nullptr;
    polypath::c::Context& used = context_of(context);
    *communicator =
        join(used, gpu, bootstrap_at(given(where, "where"), rank, size, timeout_of(used)));
  });
}

polypath_status polypath_communicator_destroy(polypath_communicator* communicator) {
  if (communicator == nullptr) return POLYPATH_SUCCESS;
  if (communicator->process != getpid()) (void)communicator->ranks.release();
  const polypath_status status = guarded([&] {
    if (communicator->ranks) communicator->ranks->close();
  });
  delete communicator;
  return status;
}

// A simulated stream goes on by itself only once all that it waits for is queued.
polypath_status polypath_communicator_synchronize(polypath_communicator* communicator) {
  return guarded([&] {
    in_turn(communicator, [&](Collectives& ranks) {
      if (communicator->context->simulated()) ranks.await_messages();
      ranks.synchronize();
    });
  });
}

// This and abort() do not wait for a call of another thread, which may wait for other ranks.
polypath_status polypath_communicator_check(polypath_communicator* communicator) {
  return guarded([&] { ranks_of(communicator).communicator().check(); });
}

polypath_status polypath_communicator_abort(polypath_communicator* communicator, const char* why) {
  return guarded([&] {
    Collectives& ranks = ranks_of(communicator);
    ranks.communicator().abort("Rank " + std::to_string(ranks.rank()) + " has given up (" +
                               given(why, "why") + ") Correct that first.");
  });
}

polypath_status polypath_allreduce(polypath_communicator* communicator, const void* input,
                                   void* output, size_t count, polypath_type type,
                                   polypath_operator operation, polypath_stream stream) {
  return run(communicator, description(POLYPATH_ALLREDUCE, input, output, count, type, operation),
             stream);
}

polypath_status polypath_reduce(polypath_communicator* communicator, const void* input,
                                void* output, size_t count, polypath_type type,
                                polypath_operator operation, int root, polypath_stream stream) {
  return run(communicator,
             description(POLYPATH_REDUCE, input, output, count, type, operation, root), stream);
}

polypath_status polypath_reduce_scatter(polypath_communicator* communicator, const void* input,
                                        void* output, size_t count, polypath_type type,
                                        polypath_operator operation, polypath_stream stream) {
  return run(communicator,
             description(POLYPATH_REDUCE_SCATTER, input, output, count, type, operation), stream);
}

polypath_status polypath_allgather(polypath_communicator* communicator, const void* input,
                                   void* output, size_t count, polypath_type type,
                                   polypath_stream stream) {
  return run(communicator, description(POLYPATH_ALLGATHER, input, output, count, type), stream);
}

polypath_status polypath_alltoall(polypath_communicator* communicator, const void* input,
                                  void* output, size_t count, polypath_type type,
                                  polypath_stream stream) {
  return run(communicator, description(POLYPATH_ALLTOALL, input, output, count, type), stream);
}

polypath_status polypath_alltoallv(polypath_communicator* communicator, const void* input,
                                   void* output, const uint64_t* counts, polypath_type type,
                                   polypath_stream stream) {
  return run(communicator,
             description(POLYPATH_ALLTOALLV, input, output, 1, type, POLYPATH_SUM, 0, counts),
             stream);
}

polypath_status polypath_broadcast(polypath_communicator* communicator, const void* input,
                                   void* output, size_t count, polypath_type type, int root,
                                   polypath_stream stream) {
  return run(communicator,
             description(POLYPATH_BROADCAST, input, output, count, type, POLYPATH_SUM, root),
             stream);
}

polypath_status polypath_barrier(polypath_communicator* communicator, polypath_stream stream) {
  return guarded([&] {
    in_turn(communicator,
            [&](Collectives& ranks) { ranks.barrier(polypath::c::StreamHandle{stream}); });
  });
}

polypath_status polypath_call_create(polypath_communicator* communicator,
                                     const polypath_call_description* description,
                                     polypath_call** call) {
  return guarded([&] {
    *given(call, "call") = nullptr;
    const polypath_call_description& said = *given(description, "description");
    in_turn(communicator, [&](Collectives& ranks) {
      auto made = std::make_unique<polypath_call>(
          polypath_call{communicator, PersistentCall(checked_call(*communicator, said))});
      ranks.prepare(made->call.call());
      *call = made.release();
    });
  });
}

polypath_status polypath_call_start(polypath_call* call, polypath_stream stream) {
  return guarded([&] {
    in_turn(given(call, "call")->communicator,
            [&](Collectives& ranks) { ranks.run(call->call, {stream}); });
  });
}

polypath_status polypath_call_destroy(polypath_call* call) {
  delete call;
  return POLYPATH_SUCCESS;
}

}  // extern "C"
