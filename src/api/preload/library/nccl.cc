// NCCL's functions as the program finds them when libpolypath_preload.so comes before that library.

#include <climits>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

#include "api/preload/nccl_layer.h"
#include "nccl/inside.h"

namespace polypath::preload {
namespace {

using nccl::Call;
using nccl::Comm;
using nccl::Functions;
using nccl::Operation;
using nccl::Operator;
using nccl::Result;
using nccl::Stream;
using nccl::Type;
using nccl::UniqueId;

// Calls the layer before NCCL, or the real functions alone; no exception goes on into the program.
template <class Ours, class Real>
Result either(const Ours& ours, const Real& real) noexcept {
  try {
    const NcclLayer& here = nccl_layer();
    if (here.layer == nullptr || nccl::Inside::is_so()) return real(here.real);
    return ours(*here.layer);
  } catch (const std::exception&) {
    return nccl::kInternalError;
  }
}

template <class Function, class... Arguments>
Result call_if_there(Function function, Arguments... arguments) {
  return function == nullptr ? nccl::kMissing : function(arguments...);
}

Result call(const Call& call) noexcept {
  return either([&](nccl::Layer& layer) { return layer.collective(call); },
                [&](const Functions& real) { return make(real, call); });
}

// Whether NCCL's calls return when they are done.
bool waits(const void* config) {
  if (const char* asked = std::getenv("NCCL_COMM_BLOCKING")) return std::string_view(asked) != "0";
  if (config == nullptr) return true;
  nccl::ConfigHead head{};
  std::memcpy(&head, config, sizeof head);
  return head.blocking != 0;
}

// By `real`, a call of one of the functions that make a communicator.
template <class Real>
Result init(Comm* comm, int size, const UniqueId* ids, int count, int rank, bool waits,
            const Real& real) {
  const std::string name(reinterpret_cast<const char*>(ids),
                         sizeof *ids * static_cast<std::size_t>(count));
  return either(
      [&](nccl::Layer& layer) {
        return layer.init(comm, size, name, rank, waits, [&] { return real(layer.real()); });
      },
      real);
}

}  // namespace
}  // namespace polypath::preload

namespace polypath::nccl {

using namespace polypath::preload;  // NOLINT(google-build-using-namespace): these are C's names

#pragma GCC visibility push(default)
extern "C" {

Result ncclGetUniqueId(UniqueId* id) {
  return either([&](polypath::nccl::Layer& layer) { return layer.unique_id(id); },
                [&](const Functions& f) { return call_if_there(f.GetUniqueId, id); });
}

Result ncclCommInitRank(Comm* comm, int size, UniqueId id, int rank) {
  return init(comm, size, &id, 1, rank, waits(nullptr), [&](const Functions& f) {
    return call_if_there(f.CommInitRank, comm, size, id, rank);
  });
}

Result ncclCommInitRankConfig(Comm* comm, int size, UniqueId id, int rank, void* config) {
  return init(comm, size, &id, 1, rank, waits(config), [&](const Functions& f) {
    return call_if_there(f.CommInitRankConfig, comm, size, id, rank, config);
  });
}

Result ncclCommInitRankScalable(Comm* comm, int size, int rank, int count, UniqueId* ids,
                                void* config) {
  return init(comm, size, ids, count, rank, waits(config), [&](const Functions& f) {
    return call_if_there(f.CommInitRankScalable, comm, size, rank, count, ids, config);
  });
}

Result ncclCommInitAll(Comm* comms, int count, const int* devices) {
  return either(
      [&](polypath::nccl::Layer& layer) { return layer.init_all(comms, count, devices); },
      [&](const Functions& f) { return call_if_there(f.CommInitAll, comms, count, devices); });
}

Result ncclCommSplit(Comm comm, int color, int key, Comm* made, void* config) {
  return either(
      [&](polypath::nccl::Layer& layer) {
        const auto said = config == nullptr ? std::nullopt : std::optional(waits(config));
        return layer.split(comm, color, key, made, said, config);
      },
      [&](const Functions& f) {
        return call_if_there(f.CommSplit, comm, color, key, made, config);
      });
}

Result ncclCommDestroy(Comm comm) {
  return either([&](polypath::nccl::Layer& layer) { return layer.destroy(comm); },
                [&](const Functions& f) { return call_if_there(f.CommDestroy, comm); });
}

Result ncclCommAbort(Comm comm) {
  return either([&](polypath::nccl::Layer& layer) { return layer.abort(comm); },
                [&](const Functions& f) { return call_if_there(f.CommAbort, comm); });
}

Result ncclCommRevoke(Comm comm, int flags) {
  return either([&](polypath::nccl::Layer& layer) { return layer.revoke(comm, flags); },
                [&](const Functions& f) { return call_if_there(f.CommRevoke, comm, flags); });
}

Result ncclCommGetAsyncError(Comm comm, Result* error) {
  return either(
      [&](polypath::nccl::Layer& layer) { return layer.async_error(comm, error); },
      [&](const Functions& f) { return call_if_there(f.CommGetAsyncError, comm, error); });
}

const char* ncclGetLastError(Comm comm) {
  try {
    const NcclLayer& here = nccl_layer();
    if (here.layer != nullptr && !polypath::nccl::Inside::is_so())
      return here.layer->last_error(comm);
    return here.real.GetLastError == nullptr ? "" : here.real.GetLastError(comm);
  } catch (const std::exception&) {
    return "";
  }
}

Result ncclGroupStart() {
  return either([](polypath::nccl::Layer& layer) { return layer.group_start(); },
                [](const Functions& f) { return call_if_there(f.GroupStart); });
}

Result ncclGroupSimulateEnd(void* info) {
  return either([&](polypath::nccl::Layer& layer) { return layer.simulate_end(info); },
                [&](const Functions& f) { return call_if_there(f.GroupSimulateEnd, info); });
}

Result ncclGroupEnd() {
  return either([](polypath::nccl::Layer& layer) { return layer.group_end(); },
                [](const Functions& f) { return call_if_there(f.GroupEnd); });
}

Result ncclAllReduce(const void* send, void* receive, std::size_t count, Type type,
                     Operator reduction, Comm comm, Stream stream) {
  return call({Operation::all_reduce, send, receive, count, type, reduction, 0, comm, stream});
}

Result ncclReduce(const void* send, void* receive, std::size_t count, Type type, Operator reduction,
                  int root, Comm comm, Stream stream) {
  return call({Operation::reduce, send, receive, count, type, reduction, root, comm, stream});
}

Result ncclReduceScatter(const void* send, void* receive, std::size_t count, Type type,
                         Operator reduction, Comm comm, Stream stream) {
  return call({Operation::reduce_scatter, send, receive, count, type, reduction, 0, comm, stream});
}

Result ncclAllGather(const void* send, void* receive, std::size_t count, Type type, Comm comm,
                     Stream stream) {
  return call({Operation::all_gather, send, receive, count, type, 0, 0, comm, stream});
}

Result ncclBroadcast(const void* send, void* receive, std::size_t count, Type type, int root,
                     Comm comm, Stream stream) {
  return call({Operation::broadcast, send, receive, count, type, 0, root, comm, stream});
}

Result ncclBcast(void* memory, std::size_t count, Type type, int root, Comm comm, Stream stream) {
  return call({Operation::broadcast, memory, memory, count, type, 0, root, comm, stream});
}

Result ncclAlltoAll(const void* send, void* receive, std::size_t count, Type type, Comm comm,
                    Stream stream) {
  return call({Operation::all_to_all, send, receive, count, type, 0, 0, comm, stream});
}

Result ncclGather(const void* send, void* receive, std::size_t count, Type type, int root,
                  Comm comm, Stream stream) {
  return call({Operation::gather, send, receive, count, type, 0, root, comm, stream});
}

Result ncclScatter(const void* send, void* receive, std::size_t count, Type type, int root,
                   Comm comm, Stream stream) {
  return call({Operation::scatter, send, receive, count, type, 0, root, comm, stream});
}

Result ncclSend(const void* send, std::size_t count, Type type, int peer, Comm comm,
                Stream stream) {
  return call({Operation::send, send, nullptr, count, type, 0, peer, comm, stream});
}

Result ncclRecv(void* receive, std::size_t count, Type type, int peer, Comm comm, Stream stream) {
  return call({Operation::receive, nullptr, receive, count, type, 0, peer, comm, stream});
}
}
}  // namespace polypath::nccl
#pragma GCC visibility pop

namespace polypath::preload {
namespace {

struct NcclEntry {
  const char* name;
  void* function;
};

#define POLYPATH_ENTRY(name, ...) {"nccl" #name, reinterpret_cast<void*>(&nccl##name)},
const NcclEntry kEntries[] = {POLYPATH_NCCL_COLLECTIVES(POLYPATH_ENTRY) POLYPATH_NCCL_COMMUNICATORS(
    POLYPATH_ENTRY) POLYPATH_ENTRY(GetLastError)};
#undef POLYPATH_ENTRY

void* entry_of(const char* name) {
  for (const NcclEntry& entry : kEntries)
    if (std::strcmp(entry.name, name) == 0) return entry.function;
  return nullptr;
}

__attribute__((constructor)) void give_entries() { set_nccl_entries(&entry_of); }

}  // namespace
}  // namespace polypath::preload
