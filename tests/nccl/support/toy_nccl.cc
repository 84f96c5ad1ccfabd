#include "nccl/support/toy_nccl.h"

#include <unistd.h>

#include <cstring>
#include <functional>
#include <thread>

#include "collective/support/ranks.h"
#include "nccl/call.h"

namespace polypath::nccl {

/// The toy's handles point to these.
struct RealCommunicator {
  std::unique_ptr<NodeCollectives> collectives;
  int device = 0;
};

}  // namespace polypath::nccl

namespace polypath::test {
namespace {

using nccl::Call;
using nccl::Comm;
using nccl::kInvalidUsage;
using nccl::kSuccess;
using nccl::Operation;
using nccl::Result;
using nccl::Stream;
using nccl::UniqueId;

ToyNccl* toy = nullptr;

using Work = std::vector<std::function<void()>>;

/// The work of a thread's group at its end: communicators at the same time, then calls in order.
struct Group {
  int depth = 0;
  Work communicators, calls;
};
thread_local Group group;

void in_group(Work Group::*kind, std::function<void()> work) {
  if (group.depth > 0) return (group.*kind).push_back(std::move(work));
  work();
}

}  // namespace

struct ToyFunctions {
  static std::unique_ptr<NodeCollectives> make(std::unique_ptr<Bootstrap> bootstrap, int device) {
    const auto gpus = toy->driver_.machine().places_of(PlaceKind::gpu);
    auto made = std::make_unique<NodeCollectives>(
        toy->driver_, toy->driver_.machine(), collective_settings(),
        gpus[static_cast<std::size_t>(device)],
        std::make_unique<Communicator>(std::move(bootstrap)));
    made->choose_from({.kernels = false});
    return made;
  }

  static Result init(Comm* comm, int size, UniqueId id, int rank) {
    *comm = new nccl::RealCommunicator;
    in_group(&Group::communicators, [=, made = *comm] {
      made->device = rank;
      made->collectives = make(toy->meet(id.internal.data(), size, rank), rank);
    });
    return kSuccess;
  }
  static Result init_all(Comm* comms, int count, const int*) {
    const UniqueId id = toy->unique_id();
    group_start();
    for (int rank = 0; rank < count; ++rank) init(comms + rank, count, id, rank);
    return group_end();
  }
  static Result split(Comm comm, int color, int key, Comm* made, void*) {
    *made = nullptr;
    auto part = comm->collectives->communicator().split(color, key);
    if (!part) return kSuccess;
    *made = new nccl::RealCommunicator;
    (*made)->device = comm->device;
    const auto gpus = toy->driver_.machine().places_of(PlaceKind::gpu);
    (*made)->collectives = std::make_unique<NodeCollectives>(
        toy->driver_, toy->driver_.machine(), collective_settings(),
        gpus[static_cast<std::size_t>(comm->device)], std::move(part));
    (*made)->collectives->choose_from({.kernels = false});
    return kSuccess;
  }
  static Result destroy(Comm comm) {
    comm->collectives->leave();
    delete comm;
    return kSuccess;
  }
  static Result async_error(Comm, Result* error) {
    *error = kSuccess;
    return kSuccess;
  }
  static Result count(const nccl::RealCommunicator* comm, int* count) {
    *count = comm->collectives->size();
    return kSuccess;
  }
  static Result user_rank(const nccl::RealCommunicator* comm, int* rank) {
    *rank = comm->collectives->rank();
    return kSuccess;
  }
  static Result device(const nccl::RealCommunicator* comm, int* device) {
    *device = comm->device;
    return kSuccess;
  }
  static Result group_start() {
    ++group.depth;
    return kSuccess;
  }
  static Result group_end() {
    if (--group.depth > 0) return kSuccess;
    {
      std::vector<std::jthread> threads;
      for (const auto& each : std::exchange(group.communicators, {})) threads.emplace_back(each);
    }
    for (const auto& each : std::exchange(group.calls, {})) each();
    return kSuccess;
  }
  static Result simulate_end(void*) {
    if (--group.depth == 0) group = {};
    return kSuccess;
  }
  static Result run(const Call& call) {
    ++toy->calls_;
    if (toy->has_instant_broadcasts && call.operation == Operation::broadcast) return kSuccess;
    const auto ours = nccl::our_form(call, call.comm->collectives->size());
    if (!ours) return kSuccess;  // it does nothing that has to be looked at
    in_group(&Group::calls, [=] {
      call.comm->collectives->run(*ours,
                                  StreamHandle{reinterpret_cast<std::uintptr_t>(call.stream)});
    });
    return kSuccess;
  }
  static Result all_reduce(const void* from, void* to, std::size_t count, int type, int operation,
                           Comm comm, Stream stream) {
    return run({Operation::all_reduce, from, to, count, type, operation, 0, comm, stream});
  }
  static Result reduce(const void* from, void* to, std::size_t count, int type, int operation,
                       int root, Comm comm, Stream stream) {
    return run({Operation::reduce, from, to, count, type, operation, root, comm, stream});
  }
  static Result reduce_scatter(const void* from, void* to, std::size_t count, int type,
                               int operation, Comm comm, Stream stream) {
    return run({Operation::reduce_scatter, from, to, count, type, operation, 0, comm, stream});
  }
  static Result all_gather(const void* from, void* to, std::size_t count, int type, Comm comm,
                           Stream stream) {
    return run({Operation::all_gather, from, to, count, type, 0, 0, comm, stream});
  }
  static Result broadcast(const void* from, void* to, std::size_t count, int type, int root,
                          Comm comm, Stream stream) {
    return run({Operation::broadcast, from, to, count, type, 0, root, comm, stream});
  }
  static Result all_to_all(const void* from, void* to, std::size_t count, int type, Comm comm,
                           Stream stream) {
    return run({Operation::all_to_all, from, to, count, type, 0, 0, comm, stream});
  }
  static Result send(const void* from, std::size_t count, int type, int peer, Comm comm,
                     Stream stream) {
    return run({Operation::send, from, nullptr, count, type, 0, peer, comm, stream});
  }
};

ToyNccl::ToyNccl(const Machine& machine) : driver_(machine) { toy = this; }
ToyNccl::~ToyNccl() { toy = nullptr; }

nccl::Functions ToyNccl::functions() {
  using F = ToyFunctions;
  nccl::Functions all;
  all.AllReduce = F::all_reduce, all.Reduce = F::reduce, all.ReduceScatter = F::reduce_scatter;
  all.AllGather = F::all_gather, all.Broadcast = F::broadcast, all.AlltoAll = F::all_to_all;
  all.Send = F::send;
  all.CommInitRank = F::init, all.CommInitAll = F::init_all, all.CommSplit = F::split;
  all.CommDestroy = F::destroy, all.CommAbort = F::destroy, all.CommGetAsyncError = F::async_error;
  all.CommCount = F::count, all.CommUserRank = F::user_rank, all.CommCuDevice = F::device;
  all.GroupSimulateEnd = F::simulate_end, all.GroupStart = F::group_start,
  all.GroupEnd = F::group_end;
  return all;
}

nccl::Surroundings ToyNccl::surroundings() {
  const auto handle_of = [](PlaceId, Stream stream) {
    return StreamHandle{reinterpret_cast<std::uintptr_t>(stream)};
  };
  const auto native = [](StreamHandle stream) { return reinterpret_cast<Stream>(stream.value); };
  return {{.driver = driver_,
           .machine = driver_.machine(),
           .settings = collective_settings(),
           .visible = driver_.machine().places_of(PlaceKind::gpu)},
          handle_of,
          native};
}

UniqueId ToyNccl::unique_id() {
  const std::scoped_lock lock(mutex_);
  UniqueId id{};
  const std::string name = std::to_string(getpid()) + "-" + std::to_string(++names_) + "-" +
                           std::to_string(reinterpret_cast<std::uintptr_t>(this));
  std::memcpy(id.internal.data(), name.data(), name.size());
  return id;
}

std::unique_ptr<Bootstrap> ToyNccl::meet(const std::string& name, int size, int rank) {
  const std::scoped_lock lock(mutex_);
  auto& ends = meetings_[name];
  if (ends.empty()) ends = bootstrap_among_threads(size);
  return std::move(ends[static_cast<std::size_t>(rank)]);
}

}  // namespace polypath::test
