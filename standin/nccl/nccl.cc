// NCCL's interface, over the driver of this process.

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "standin/nccl/communicator.h"
#include "standin/nccl/driver.h"

namespace polypath::standin {
namespace {

constexpr int kSuccess = 0, kSystemError = 2, kInvalidArgument = 4, kInvalidUsage = 5,
              kRemoteError = 6;

using Comm = NcclCommunicator*;

struct UniqueId {
  std::array<char, 128> internal;
};

// The work of a group at its end: communicators at the same time, then collectives in order, then
// messages at the same time.
struct Group {
  int depth = 0;
  std::vector<std::function<bool()>> communicators;
  std::vector<std::pair<Comm, NcclCall>> calls;
};

Group& group() {
  thread_local Group group;
  return group;
}

int called(Comm comm, const NcclCall& call) {
  if (comm == nullptr || call.type < 0 || call.type > 11 || call.other < 0 ||
      call.other >= comm->size())
    return kInvalidArgument;
  if (comm->is_revoked()) return kInvalidUsage;
  if (group().depth == 0) return comm->run(call) == 0 ? kSuccess : kSystemError;
  group().calls.emplace_back(comm, call);
  return kSuccess;
}

unsigned long long address(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

int begun(Comm* where, const std::string& name, int rank, int size) {
  if (rank < 0 || rank >= size) return kInvalidArgument;
  auto* const made = new NcclCommunicator(name, rank, size);
  *where = made;
  if (group().depth == 0) return made->begin() ? kSuccess : kSystemError;
  group().communicators.emplace_back([made] { return made->begin(); });
  return kSuccess;
}

bool begin_all(const std::vector<std::function<bool()>>& communicators) {
  std::atomic<bool> is_well{true};
  std::vector<std::jthread> threads;
  for (const auto& begin : communicators)
    threads.emplace_back([&begin, &is_well] {
      if (!begin()) is_well = false;
    });
  threads.clear();  // joins them
  return is_well;
}

// What one kind of calls does; true if all have done it well.
template <class Action>
bool each_of(const std::vector<std::pair<Comm, NcclCall>>& calls, bool messages, Action action) {
  bool is_well = true;
  for (const auto& [comm, call] : calls)
    if (is_message(call.movement) == messages) is_well = action(*comm, call) == 0 && is_well;
  return is_well;
}

bool tie_all(const std::map<Comm, std::set<void*>>& streams) {
  bool is_well = true;
  for (const auto& [comm, of] : streams) is_well = comm->tie(of) == 0 && is_well;
  return is_well;
}

bool make_all(const std::vector<std::pair<Comm, NcclCall>>& calls) {
  std::map<Comm, std::set<void*>> streams;
  for (const auto& [comm, call] : calls) streams[comm].insert(call.stream);
  bool is_well = tie_all(streams);
  is_well &= each_of(calls, false, [](auto& comm, auto& call) { return comm.run(call); });
  is_well &= each_of(calls, true, [](auto& comm, auto& call) { return comm.begin_message(call); });
  is_well &= each_of(calls, true, [](auto& comm, auto& call) { return comm.end_message(call); });
  return tie_all(streams) && is_well;
}

}  // namespace
}  // namespace polypath::standin

using namespace polypath::standin;  // NOLINT(google-build-using-namespace): these are C's names

#pragma GCC visibility push(default)
extern "C" {

int ncclGroupEnd();

int ncclGetVersion(int* version) {
  *version = 23203;
  return kSuccess;
}
const char* ncclGetErrorString(int result) {
  return result == kSuccess ? "no error" : "an error of the stand-in";
}
const char* ncclGetLastError(Comm) { return ""; }

int ncclGetUniqueId(UniqueId* id) {
  std::random_device random;
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->internal.data(), id->internal.size(), "%08x%08x", random(), random());
  return kSuccess;
}

int ncclCommInitRank(Comm* comm, int size, UniqueId id, int rank) {
  return begun(comm, id.internal.data(), rank, size);
}
// As the real one does, by its public name.
int ncclCommInitRankConfig(Comm* comm, int size, UniqueId id, int rank, void*) {
  return ncclCommInitRank(comm, size, id, rank);
}
int ncclCommInitAll(Comm* comms, int count, const int* devices) {
  UniqueId id{};
  ncclGetUniqueId(&id);
  ++group().depth;
  for (int rank = 0; rank < count; ++rank) {
    void *context = nullptr, *popped = nullptr;
    (void)cuDevicePrimaryCtxRetain(&context, devices == nullptr ? rank : devices[rank]);
    (void)cuCtxPushCurrent_v2(context);
    begun(comms + rank, id.internal.data(), rank, count);
    (void)cuCtxPopCurrent_v2(&popped);
  }
  return ncclGroupEnd();
}
int ncclCommSplit(Comm comm, int color, int key, Comm* made, void*) {
  *made = nullptr;
  const NcclCommunicator::Part part = comm->split(color, key);
  return part.name.empty() ? kSuccess : begun(made, part.name, part.rank, part.size);
}
int ncclCommDestroy(Comm comm) {
  delete comm;
  return kSuccess;
}
int ncclCommAbort(Comm comm) {
  comm->abort();
  return ncclCommDestroy(comm);
}
int ncclCommRevoke(Comm comm, int flags) {
  if (comm == nullptr || flags != 0) return kInvalidArgument;
  comm->revoke();
  return kSuccess;
}
int ncclCommFinalize(Comm) { return kSuccess; }
int ncclCommGetAsyncError(Comm comm, int* error) {
  *error = comm->has_lost_rank() ? kRemoteError : kSuccess;
  return kSuccess;
}
int ncclCommCount(Comm comm, int* count) {
  *count = comm->size();
  return kSuccess;
}
int ncclCommUserRank(Comm comm, int* rank) {
  *rank = comm->rank();
  return kSuccess;
}
int ncclCommCuDevice(Comm comm, int* device) {
  *device = comm->device();
  return kSuccess;
}

int ncclGroupStart() {
  ++group().depth;
  return kSuccess;
}
int ncclGroupEnd() {
  Group& all = group();
  if (all.depth == 0) return kInvalidUsage;
  if (--all.depth > 0) return kSuccess;
  const bool has_begun = begin_all(std::exchange(all.communicators, {}));
  const bool is_made = make_all(std::exchange(all.calls, {}));
  return has_begun && is_made ? kSuccess : kSystemError;
}

int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int operation, Comm comm,
                  void* stream) {
  return called(
      comm, {Movement::all_reduce, address(from), address(to), count, type, operation, 0, stream});
}
int ncclReduce(const void* from, void* to, std::size_t count, int type, int operation, int root,
               Comm comm, void* stream) {
  return called(
      comm, {Movement::reduce, address(from), address(to), count, type, operation, root, stream});
}
int ncclReduceScatter(const void* from, void* to, std::size_t count, int type, int operation,
                      Comm comm, void* stream) {
  return called(comm, {Movement::reduce_scatter, address(from), address(to), count, type, operation,
                       0, stream});
}
int ncclAllGather(const void* from, void* to, std::size_t count, int type, Comm comm,
                  void* stream) {
  return called(comm,
                {Movement::all_gather, address(from), address(to), count, type, 0, 0, stream});
}
int ncclBroadcast(const void* from, void* to, std::size_t count, int type, int root, Comm comm,
                  void* stream) {
  return called(comm,
                {Movement::broadcast, address(from), address(to), count, type, 0, root, stream});
}
int ncclBcast(void* memory, std::size_t count, int type, int root, Comm comm, void* stream) {
  return ncclBroadcast(memory, memory, count, type, root, comm, stream);
}
int ncclAlltoAll(const void* from, void* to, std::size_t count, int type, Comm comm, void* stream) {
  return called(comm,
                {Movement::all_to_all, address(from), address(to), count, type, 0, 0, stream});
}
int ncclSend(const void* from, std::size_t count, int type, int peer, Comm comm, void* stream) {
  return called(comm, {Movement::send, address(from), 0, count, type, 0, peer, stream});
}
int ncclRecv(void* to, std::size_t count, int type, int peer, Comm comm, void* stream) {
  return called(comm, {Movement::receive, 0, address(to), count, type, 0, peer, stream});
}
}
#pragma GCC visibility pop
