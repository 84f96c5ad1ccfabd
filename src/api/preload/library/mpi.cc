// MPI's collective functions as the program finds them when libpolypath_preload.so comes before
// that library. The arguments are MPI's: mpi/abi.h says why words stand for all handles.

#include <cstring>
#include <deque>
#include <exception>
#include <limits>
#include <tuple>
#include <type_traits>
#include <vector>

#include "api/preload/mpi_layer.h"

namespace polypath::preload {
namespace {

using mpi::Call;
using mpi::Count;
using mpi::Functions;
using mpi::Handle;
using mpi::Operation;
using mpi::Result;
using mpi::Side;

// Calls the layer before MPI, or the real functions alone; no exception goes on into the program.
template <class Make, class Real>
Result call(Handle comm, const Make& make, const Real& real, const void* send,
            void* receive) noexcept {
  try {
    const MpiLayer& here = mpi_layer();
    if (here.layer == nullptr) return real(here.real, send, receive);
    const auto with = [&](const void* other_send, void* other_receive) {
      return real(here.real, other_send, other_receive);
    };
    const mpi::Library& library = here.layer->library();
    Call described = make(library);
    described.comm = library.handle(comm);
    described.reduction = library.handle(described.reduction);
    described.send.type = library.handle(described.send.type);
    described.receive.type = library.handle(described.receive.type);
    return here.layer->collective(described, with);
  } catch (const std::exception&) {
    return mpi::kMissing;
  }
}

template <class Function, class... Arguments>
Result call_if_there(Function function, Arguments... arguments) {
  return function == nullptr ? mpi::kMissing : function(arguments...);
}

void* writable(const void* memory) { return const_cast<void*>(memory); }

struct Ranks {
  int rank = 0, size = 1;
};

// Of the other group, where there are two.
Ranks ranks_of(const mpi::Library& library, Handle comm) {
  Ranks ranks;
  library.real.Comm_rank(library.handle(comm), &ranks.rank);
  library.real.Comm_size(library.handle(comm), &ranks.size);
  return ranks;
}

// Counts of 64 bits for a library without functions that take them: programs find ours, and
// believe that there are some.
class Narrowed {
 public:
  explicit Narrowed(int ranks) : ranks_(ranks) {}
  [[nodiscard]] bool fits() const { return fits_; }

  template <class Argument>
  Argument operator()(Argument argument) {
    return argument;
  }
  int operator()(Count count) {
    fits_ = fits_ && count <= std::numeric_limits<int>::max() &&
            count >= std::numeric_limits<int>::min();
    return static_cast<int>(count);
  }
  const int* operator()(const Count* counts) {
    if (counts == nullptr) return nullptr;
    std::vector<int>& made = arrays_.emplace_back();
    for (int rank = 0; rank < ranks_; ++rank) made.push_back((*this)(counts[rank]));
    return made.data();
  }

 private:
  int ranks_;
  bool fits_ = true;
  std::deque<std::vector<int>> arrays_;
};

template <class Wide, class Narrow>
struct EitherWidth {
  const Functions& functions;
  Wide wide;
  Narrow narrow;
};

template <class Wide, class Narrow, class... Arguments>
Result call_if_there(const EitherWidth<Wide, Narrow>& either, Arguments... arguments) {
  if (either.wide != nullptr) return either.wide(arguments...);
  int ranks = 0;
  const Handle comm = std::get<sizeof...(arguments) - 1>(std::tuple(arguments...));
  if (const Result result = either.functions.Comm_size(comm, &ranks); result != mpi::kSuccess)
    return result;
  Narrowed narrowed(ranks);
  const std::tuple<decltype(narrowed(arguments))...> all{narrowed(arguments)...};
  return narrowed.fits() ? std::apply(either.narrow, all) : mpi::kMissing;
}

// The same function for counts of both widths: `function` is MPI's name without the prefix.
#define POLYPATH_REAL(function)                                                     \
  [](const Functions& functions) {                                                  \
    if constexpr (std::is_same_v<Number, int>) return functions.function;           \
    else return EitherWidth{functions, functions.function##_c, functions.function}; \
  }

template <class Number, class Real>
Result reduction(Operation operation, Real real, const void* send, void* receive, Number count,
                 Handle type, Handle op, Handle comm) {
  return call(
      comm,
      [&](const mpi::Library&) {
        const Side side{.memory = writable(send), .count = count, .type = type};
        return Call{.operation = operation,
                    .send = side,
                    .receive = {.memory = receive, .count = count, .type = type},
                    .reduction = op};
      },
      [&](const Functions& all, const void* given, void* taken) {
        return call_if_there(real(all), given, taken, count, type, op, comm);
      },
      send, receive);
}

template <class Number>
Result reduce(const void* send, void* receive, Number count, Handle type, Handle op, int root,
              Handle comm) {
  const auto real = POLYPATH_REAL(Reduce);
  return call(
      comm,
      [&](const mpi::Library& library) {
        const int parts = ranks_of(library, comm).rank == root ? 1 : 0;
        return Call{.operation = Operation::reduce,
                    .send = {.memory = writable(send), .count = count, .type = type},
                    .receive = {.memory = receive, .count = count, .type = type, .parts = parts},
                    .reduction = op,
                    .root = root};
      },
      [&](const Functions& all, const void* given, void* taken) {
        return call_if_there(real(all), given, taken, count, type, op, root, comm);
      },
      send, receive);
}

template <class Number>
Result reduce_scatter(const void* send, void* receive, const Number* counts, Handle type, Handle op,
                      Handle comm) {
  const auto real = POLYPATH_REAL(Reduce_scatter);
  return call(
      comm,
      [&](const mpi::Library& library) {
        const Ranks ranks = ranks_of(library, comm);
        Count all = 0;
        for (int rank = 0; rank < ranks.size; ++rank) all += counts[rank];
        const bool in_place = send == library.in_place;
        Call made{.operation = Operation::reduce_scatter,
                  .send = {.memory = writable(send), .count = all, .type = type},
                  .receive = {.memory = receive,
                              .count = in_place ? all : counts[ranks.rank],
                              .type = type},
                  .reduction = op};
        made.counts = counts;
        return made;
      },
      [&](const Functions& all, const void* given, void* taken) {
        return call_if_there(real(all), given, taken, counts, type, op, comm);
      },
      send, receive);
}

template <class Number>
Result reduce_scatter_block(const void* send, void* receive, Number count, Handle type, Handle op,
                            Handle comm) {
  const auto real = POLYPATH_REAL(Reduce_scatter_block);
  return call(
      comm,
      [&](const mpi::Library& library) {
        const int size = ranks_of(library, comm).size;
        const int parts = send == library.in_place ? size : 1;
        return Call{.operation = Operation::reduce_scatter_block,
                    .send = {.memory = writable(send), .count = count, .type = type, .parts = size},
                    .receive = {.memory = receive, .count = count, .type = type, .parts = parts},
                    .reduction = op};
      },
      [&](const Functions& all, const void* given, void* taken) {
        return call_if_there(real(all), given, taken, count, type, op, comm);
      },
      send, receive);
}

template <class Number>
Result broadcast(void* memory, Number count, Handle type, int root, Handle comm) {
  const auto real = POLYPATH_REAL(Bcast);
  return call(
      comm,
      [&](const mpi::Library&) {
        const Side side{.memory = memory, .count = count, .type = type};
        return Call{.operation = Operation::broadcast, .send = side, .receive = side, .root = root};
      },
      [&](const Functions& all, const void*, void* other) {
        return call_if_there(real(all), other, count, type, root, comm);
      },
      memory, memory);
}

// Every rank gives to all, or to each: allgather and alltoall.
template <class Number, class Real>
Result to_all(Operation operation, Real real, const void* send, Number send_count, Handle send_type,
              void* receive, Number receive_count, Handle receive_type, Handle comm) {
  return call(
      comm,
      [&](const mpi::Library& library) {
        const int size = ranks_of(library, comm).size;
        return Call{
            .operation = operation,
            .send = {.memory = writable(send),
                     .count = send_count,
                     .type = send_type,
                     .parts = operation == Operation::all_to_all ? size : 1},
            .receive = {
                .memory = receive, .count = receive_count, .type = receive_type, .parts = size}};
      },
      [&](const Functions& all, const void* given, void* taken) {
        return call_if_there(real(all), given, send_count, send_type, taken, receive_count,
                             receive_type, comm);
      },
      send, receive);
}

template <class Number>
Result all_gather_v(const void* send, Number send_count, Handle send_type, void* receive,
                    const Number* counts, const Number* displacements, Handle receive_type,
                    Handle comm) {
  const auto real = POLYPATH_REAL(Allgatherv);
  return call(
      comm,
      [&](const mpi::Library& library) {
        return Call{.operation = Operation::all_gather_v,
                    .send = {.memory = writable(send), .count = send_count, .type = send_type},
                    .receive = {.memory = receive,
                                .type = receive_type,
                                .parts = ranks_of(library, comm).size,
                                .counts = counts,
                                .displacements = displacements}};
      },
      [&](const Functions& all, const void* given, void* taken) {
        return call_if_there(real(all), given, send_count, send_type, taken, counts, displacements,
                             receive_type, comm);
      },
      send, receive);
}

// The root gets from all (gather), or gives to all (scatter): only there the other side counts.
template <class Number, class Real>
Result at_root(Operation operation, Real real, const void* send, Number send_count,
               Handle send_type, void* receive, Number receive_count, Handle receive_type, int root,
               Handle comm) {
  return call(
      comm,
      [&](const mpi::Library& library) {
        const Ranks ranks = ranks_of(library, comm);
        const int many = ranks.rank == root ? ranks.size : 0;
        const bool gathers = operation == Operation::gather;
        return Call{.operation = operation,
                    .send = {.memory = writable(send),
                             .count = send_count,
                             .type = send_type,
                             .parts = gathers ? 1 : many},
                    .receive = {.memory = receive,
                                .count = receive_count,
                                .type = receive_type,
                                .parts = gathers ? many : 1},
                    .root = root};
      },
      [&](const Functions& all, const void* given, void* taken) {
        return call_if_there(real(all), given, send_count, send_type, taken, receive_count,
                             receive_type, root, comm);
      },
      send, receive);
}

template <class Number>
Result gather_v(const void* send, Number send_count, Handle send_type, void* receive,
                const Number* counts, const Number* displacements, Handle receive_type, int root,
                Handle comm) {
  const auto real = POLYPATH_REAL(Gatherv);
  return call(
      comm,
      [&](const mpi::Library& library) {
        const Ranks ranks = ranks_of(library, comm);
        Side taken{.memory = receive, .type = receive_type, .parts = 0};
        if (ranks.rank == root) {
          taken.parts = ranks.size;
          taken.counts = counts;
          taken.displacements = displacements;
        }
        return Call{.operation = Operation::gather_v,
                    .send = {.memory = writable(send), .count = send_count, .type = send_type},
                    .receive = taken,
                    .root = root};
      },
      [&](const Functions& all, const void* given, void* taken) {
        return call_if_there(real(all), given, send_count, send_type, taken, counts, displacements,
                             receive_type, root, comm);
      },
      send, receive);
}

template <class Number>
Result scatter_v(const void* send, const Number* counts, const Number* displacements,
                 Handle send_type, void* receive, Number receive_count, Handle receive_type,
                 int root, Handle comm) {
  const auto real = POLYPATH_REAL(Scatterv);
  return call(
      comm,
      [&](const mpi::Library& library) {
        const Ranks ranks = ranks_of(library, comm);
        Side given{.memory = writable(send), .type = send_type, .parts = 0};
        if (ranks.rank == root) {
          given.parts = ranks.size;
          given.counts = counts;
          given.displacements = displacements;
        }
        return Call{.operation = Operation::scatter_v,
                    .send = given,
                    .receive = {.memory = receive, .count = receive_count, .type = receive_type},
                    .root = root};
      },
      [&](const Functions& all, const void* given, void* taken) {
        return call_if_there(real(all), given, counts, displacements, send_type, taken,
                             receive_count, receive_type, root, comm);
      },
      send, receive);
}

// `w`: a type for each rank, and displacements in bytes.
template <class Number, class Real, class Type>
Result all_to_all_v(Operation operation, Real real, const void* send, const Number* send_counts,
                    const Number* send_at, Type send_type, void* receive,
                    const Number* receive_counts, const Number* receive_at, Type receive_type,
                    Handle comm) {
  return call(
      comm,
      [&](const mpi::Library& library) {
        const int size = ranks_of(library, comm).size;
        Side given{.memory = writable(send),
                   .parts = size,
                   .counts = send_counts,
                   .displacements = send_at};
        Side taken{.memory = receive,
                   .parts = size,
                   .counts = receive_counts,
                   .displacements = receive_at};
        if constexpr (std::is_same_v<Type, Handle>) {
          given.type = send_type;
          taken.type = receive_type;
        } else {
          given.types = send_type;
          taken.types = receive_type;
        }
        return Call{.operation = operation, .send = given, .receive = taken};
      },
      [&](const Functions& all, const void* other_send, void* other_receive) {
        return call_if_there(real(all), other_send, send_counts, send_at, send_type, other_receive,
                             receive_counts, receive_at, receive_type, comm);
      },
      send, receive);
}

template <class Real>
Result init(const Real& real) noexcept {
  try {
    const MpiLayer& here = mpi_layer();
    const auto make = [&] { return real(here.real); };
    return here.layer == nullptr ? make() : here.layer->init(has_driver(), make);
  } catch (const std::exception&) {
    return mpi::kMissing;
  }
}

}  // namespace
}  // namespace polypath::preload

using namespace polypath::preload;  // NOLINT(google-build-using-namespace): these are C's names

#pragma GCC visibility push(default)
extern "C" {

Result MPI_Init(int* count, char*** words) {
  return init([&](const Functions& real) { return call_if_there(real.Init, count, words); });
}

Result MPI_Init_thread(int* count, char*** words, int required, int* provided) {
  return init([&](const Functions& real) {
    return call_if_there(real.Init_thread, count, words, required, provided);
  });
}

Result MPI_Finalize() {
  const MpiLayer& here = mpi_layer();
  if (here.layer != nullptr) here.layer->finalize();
  return call_if_there(here.real.Finalize);
}

// Both widths of counts: `number` is int, or MPI_Count with the suffix.
#define POLYPATH_MPI_ENTRIES(number, suffix)                                                       \
  Result MPI_Allreduce##suffix(const void* send, void* receive, number count, Handle type,         \
                               Handle op, Handle comm) {                                           \
    using Number = number;                                                                         \
    return reduction<Number>(Operation::all_reduce, POLYPATH_REAL(Allreduce), send, receive,       \
                             count, type, op, comm);                                               \
  }                                                                                                \
  Result MPI_Scan##suffix(const void* send, void* receive, number count, Handle type, Handle op,   \
                          Handle comm) {                                                           \
    using Number = number;                                                                         \
    return reduction<Number>(Operation::scan, POLYPATH_REAL(Scan), send, receive, count, type, op, \
                             comm);                                                                \
  }                                                                                                \
  Result MPI_Exscan##suffix(const void* send, void* receive, number count, Handle type, Handle op, \
                            Handle comm) {                                                         \
    using Number = number;                                                                         \
    return reduction<Number>(Operation::exclusive_scan, POLYPATH_REAL(Exscan), send, receive,      \
                             count, type, op, comm);                                               \
  }                                                                                                \
  Result MPI_Reduce##suffix(const void* send, void* receive, number count, Handle type, Handle op, \
                            int root, Handle comm) {                                               \
    return reduce<number>(send, receive, count, type, op, root, comm);                             \
  }                                                                                                \
  Result MPI_Reduce_scatter##suffix(const void* send, void* receive, const number* counts,         \
                                    Handle type, Handle op, Handle comm) {                         \
    return reduce_scatter<number>(send, receive, counts, type, op, comm);                          \
  }                                                                                                \
  Result MPI_Reduce_scatter_block##suffix(const void* send, void* receive, number count,           \
                                          Handle type, Handle op, Handle comm) {                   \
    return reduce_scatter_block<number>(send, receive, count, type, op, comm);                     \
  }                                                                                                \
  Result MPI_Bcast##suffix(void* memory, number count, Handle type, int root, Handle comm) {       \
    return broadcast<number>(memory, count, type, root, comm);                                     \
  }                                                                                                \
  Result MPI_Allgather##suffix(const void* send, number send_count, Handle send_type,              \
                               void* receive, number receive_count, Handle receive_type,           \
                               Handle comm) {                                                      \
    using Number = number;                                                                         \
    return to_all<Number>(Operation::all_gather, POLYPATH_REAL(Allgather), send, send_count,       \
                          send_type, receive, receive_count, receive_type, comm);                  \
  }                                                                                                \
  Result MPI_Alltoall##suffix(const void* send, number send_count, Handle send_type,               \
                              void* receive, number receive_count, Handle receive_type,            \
                              Handle comm) {                                                       \
    using Number = number;                                                                         \
    return to_all<Number>(Operation::all_to_all, POLYPATH_REAL(Alltoall), send, send_count,        \
                          send_type, receive, receive_count, receive_type, comm);                  \
  }                                                                                                \
  Result MPI_Allgatherv##suffix(const void* send, number send_count, Handle send_type,             \
                                void* receive, const number* counts, const number* displacements,  \
                                Handle receive_type, Handle comm) {                                \
    return all_gather_v<number>(send, send_count, send_type, receive, counts, displacements,       \
                                receive_type, comm);                                               \
  }                                                                                                \
  Result MPI_Gather##suffix(const void* send, number send_count, Handle send_type, void* receive,  \
                            number receive_count, Handle receive_type, int root, Handle comm) {    \
    using Number = number;                                                                         \
    return at_root<Number>(Operation::gather, POLYPATH_REAL(Gather), send, send_count, send_type,  \
                           receive, receive_count, receive_type, root, comm);                      \
  }                                                                                                \
  Result MPI_Scatter##suffix(const void* send, number send_count, Handle send_type, void* receive, \
                             number receive_count, Handle receive_type, int root, Handle comm) {   \
    using Number = number;                                                                         \
    return at_root<Number>(Operation::scatter, POLYPATH_REAL(Scatter), send, send_count,           \
                           send_type, receive, receive_count, receive_type, root, comm);           \
  }                                                                                                \
  Result MPI_Gatherv##suffix(const void* send, number send_count, Handle send_type, void* receive, \
                             const number* counts, const number* displacements,                    \
                             Handle receive_type, int root, Handle comm) {                         \
    return gather_v<number>(send, send_count, send_type, receive, counts, displacements,           \
                            receive_type, root, comm);                                             \
  }                                                                                                \
  Result MPI_Scatterv##suffix(const void* send, const number* counts, const number* displacements, \
                              Handle send_type, void* receive, number receive_count,               \
                              Handle receive_type, int root, Handle comm) {                        \
    return scatter_v<number>(send, counts, displacements, send_type, receive, receive_count,       \
                             receive_type, root, comm);                                            \
  }                                                                                                \
  Result MPI_Alltoallv##suffix(const void* send, const number* send_counts, const number* send_at, \
                               Handle send_type, void* receive, const number* receive_counts,      \
                               const number* receive_at, Handle receive_type, Handle comm) {       \
    using Number = number;                                                                         \
    return all_to_all_v<Number>(Operation::all_to_all_v, POLYPATH_REAL(Alltoallv), send,           \
                                send_counts, send_at, send_type, receive, receive_counts,          \
                                receive_at, receive_type, comm);                                   \
  }                                                                                                \
  Result MPI_Alltoallw##suffix(const void* send, const number* send_counts, const number* send_at, \
                               const void* send_types, void* receive,                              \
                               const number* receive_counts, const number* receive_at,             \
                               const void* receive_types, Handle comm) {                           \
    using Number = number;                                                                         \
    return all_to_all_v<Number>(Operation::all_to_all_w, POLYPATH_REAL(Alltoallw), send,           \
                                send_counts, send_at, send_types, receive, receive_counts,         \
                                receive_at, receive_types, comm);                                  \
  }

POLYPATH_MPI_ENTRIES(int, )
POLYPATH_MPI_ENTRIES(Count, _c)
}
#pragma GCC visibility pop

namespace polypath::preload {
namespace {

struct MpiEntry {
  const char* name;
  void* function;
};

#define POLYPATH_ENTRY(name, ...) {"MPI_" #name, reinterpret_cast<void*>(&MPI_##name)},
const MpiEntry kEntries[] = {POLYPATH_MPI_COLLECTIVES(POLYPATH_ENTRY)
                                 POLYPATH_MPI_LARGE_COLLECTIVES(POLYPATH_ENTRY)
                                     POLYPATH_MPI_LIFE(POLYPATH_ENTRY)};
#undef POLYPATH_ENTRY

void* entry_of(const char* name) {
  for (const MpiEntry& entry : kEntries)
    if (std::strcmp(entry.name, name) == 0) return entry.function;
  return nullptr;
}

__attribute__((constructor)) void give_entries() { set_mpi_entries(&entry_of); }

}  // namespace
}  // namespace polypath::preload
