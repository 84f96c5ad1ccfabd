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
// `request`: none, or the place of the request of a non-blocking call, whose `real` is kept.
template <class Make, class Real, class... Request>
Result call(Handle comm, const Make& make, const Real& real, const void* send, void* receive,
            Request... request) noexcept {
  try {
    const MpiLayer& here = mpi_layer();
    if (here.layer == nullptr) return real(here.real, send, receive, request...);
    const mpi::Library& library = here.layer->library();
    Call described = make(library);
    described.comm = library.handle(comm);
    described.reduction = library.handle(described.reduction);
    described.send.type = library.handle(described.send.type);
    described.receive.type = library.handle(described.receive.type);
    const auto with = [real, &here](const void* given, void* taken, auto... other) {
      return real(here.real, given, taken, other...);
    };
    if constexpr (sizeof...(request) == 0) return here.layer->collective(described, with);
    else return here.layer->begin(described, with, request...);
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

// The communicator stands last, but for the request of a non-blocking call.
template <class First, class... More>
Handle last_handle(First first, More... more) {
  if constexpr (sizeof...(more) == 0 ||
                (sizeof...(more) == 1 && (std::is_same_v<More, void*> && ...)))
    return static_cast<Handle>(first);
  else return last_handle(more...);
}

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
  const Handle comm = last_handle(arguments...);
  if (const Result result = either.functions.Comm_size(comm, &ranks); result != mpi::kSuccess)
    return result;
  Narrowed narrowed(ranks);
  const std::tuple<decltype(narrowed(arguments))...> all{narrowed(arguments)...};
  return narrowed.fits() ? std::apply(either.narrow, all) : mpi::kMissing;
}

template <class Number, class Real, class... Request>
Result reduction(Operation operation, Real real, const void* send, void* receive, Number count,
                 Handle type, Handle op, Handle comm, Request... request) {
  return call(
      comm,
      [&](const mpi::Library&) {
        const Side side{.memory = writable(send), .count = count, .type = type};
        return Call{.operation = operation,
                    .send = side,
                    .receive = {.memory = receive, .count = count, .type = type},
                    .reduction = op};
      },
      [=](const Functions& all, const void* given, void* taken, auto... other) {
        return call_if_there(real(all), given, taken, count, type, op, comm, other...);
      },
      send, receive, request...);
}

template <class Number, class Real, class... Request>
Result reduce(Real real, const void* send, void* receive, Number count, Handle type, Handle op,
              int root, Handle comm, Request... request) {
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
      [=](const Functions& all, const void* given, void* taken, auto... other) {
        return call_if_there(real(all), given, taken, count, type, op, root, comm, other...);
      },
      send, receive, request...);
}

template <class Number, class Real, class... Request>
Result reduce_scatter(Real real, const void* send, void* receive, const Number* counts, Handle type,
                      Handle op, Handle comm, Request... request) {
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
      [=](const Functions& all, const void* given, void* taken, auto... other) {
        return call_if_there(real(all), given, taken, counts, type, op, comm, other...);
      },
      send, receive, request...);
}

template <class Number, class Real, class... Request>
Result reduce_scatter_block(Real real, const void* send, void* receive, Number count, Handle type,
                            Handle op, Handle comm, Request... request) {
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
      [=](const Functions& all, const void* given, void* taken, auto... other) {
        return call_if_there(real(all), given, taken, count, type, op, comm, other...);
      },
      send, receive, request...);
}

template <class Number, class Real, class... Request>
Result broadcast(Real real, void* memory, Number count, Handle type, int root, Handle comm,
                 Request... request) {
  return call(
      comm,
      [&](const mpi::Library&) {
        const Side side{.memory = memory, .count = count, .type = type};
        return Call{.operation = Operation::broadcast, .send = side, .receive = side, .root = root};
      },
      [=](const Functions& all, const void*, void* taken, auto... other) {
        return call_if_there(real(all), taken, count, type, root, comm, other...);
      },
      memory, memory, request...);
}

// Every rank gives to all, or to each: allgather and alltoall.
template <class Number, class Real, class... Request>
Result to_all(Operation operation, Real real, const void* send, Number send_count, Handle send_type,
              void* receive, Number receive_count, Handle receive_type, Handle comm,
              Request... request) {
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
      [=](const Functions& all, const void* given, void* taken, auto... other) {
        return call_if_there(real(all), given, send_count, send_type, taken, receive_count,
                             receive_type, comm, other...);
      },
      send, receive, request...);
}

template <class Number, class Real, class... Request>
Result all_gather_v(Real real, const void* send, Number send_count, Handle send_type, void* receive,
                    const Number* counts, const Number* displacements, Handle receive_type,
                    Handle comm, Request... request) {
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
      [=](const Functions& all, const void* given, void* taken, auto... other) {
        return call_if_there(real(all), given, send_count, send_type, taken, counts, displacements,
                             receive_type, comm, other...);
      },
      send, receive, request...);
}

// The root gets from all (gather), or gives to all (scatter): only there the other side counts.
template <class Number, class Real, class... Request>
Result at_root(Operation operation, Real real, const void* send, Number send_count,
               Handle send_type, void* receive, Number receive_count, Handle receive_type, int root,
               Handle comm, Request... request) {
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
      [=](const Functions& all, const void* given, void* taken, auto... other) {
        return call_if_there(real(all), given, send_count, send_type, taken, receive_count,
                             receive_type, root, comm, other...);
      },
      send, receive, request...);
}

template <class Number, class Real, class... Request>
Result gather_v(Real real, const void* send, Number send_count, Handle send_type, void* receive,
                const Number* counts, const Number* displacements, Handle receive_type, int root,
                Handle comm, Request... request) {
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
      [=](const Functions& all, const void* given, void* taken, auto... other) {
        return call_if_there(real(all), given, send_count, send_type, taken, counts, displacements,
                             receive_type, root, comm, other...);
      },
      send, receive, request...);
}

template <class Number, class Real, class... Request>
Result scatter_v(Real real, const void* send, const Number* counts, const Number* displacements,
                 Handle send_type, void* receive, Number receive_count, Handle receive_type,
                 int root, Handle comm, Request... request) {
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
      [=](const Functions& all, const void* given, void* taken, auto... other) {
        return call_if_there(real(all), given, counts, displacements, send_type, taken,
                             receive_count, receive_type, root, comm, other...);
      },
      send, receive, request...);
}

// `w`: a type for each rank, and displacements in bytes.
template <class Number, class Real, class Type, class... Request>
Result all_to_all_v(Operation operation, Real real, const void* send, const Number* send_counts,
                    const Number* send_at, Type send_type, void* receive,
                    const Number* receive_counts, const Number* receive_at, Type receive_type,
                    Handle comm, Request... request) {
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
      [=](const Functions& all, const void* given, void* taken, auto... other) {
        return call_if_there(real(all), given, send_counts, send_at, send_type, taken,
                             receive_counts, receive_at, receive_type, comm, other...);
      },
      send, receive, request...);
}

// By `real` a communicator is made, whose handle is at `made` then.
template <class Real>
Result communicator(const Real& real, void* made) noexcept {
  try {
    const MpiLayer& here = mpi_layer();
    const Result result = real(here.real);
    if (result == mpi::kSuccess && here.layer != nullptr)
      here.layer->note_made(here.layer->library().handle_at(made, 0));
    return result;
  } catch (const std::exception&) {
    return mpi::kMissing;
  }
}

// A wait of the program's: `test` says whether it is over. While no call of ours is under way it is
// MPI's.
template <class Test, class Wait>
Result until_done(const Test& test, const Wait& wait) noexcept {
  try {
    const MpiLayer& here = mpi_layer();
    if (here.layer == nullptr || !here.layer->has_requests()) return wait(here.real);
    for (int done = 0;;) {
      const Result result = test(here.real, &done);
      if (result != mpi::kSuccess || done != 0) return result;
      here.layer->go_on();
    }
  } catch (const std::exception&) {
    return mpi::kMissing;
  }
}

template <class Test>
Result once(const Test& test) noexcept {
  try {
    const MpiLayer& here = mpi_layer();
    if (here.layer != nullptr && here.layer->has_requests()) here.layer->go_on();
    return test(here.real);
  } catch (const std::exception&) {
    return mpi::kMissing;
  }
}

// `start` begins the message; `wait` is the program's call as it is. `sent` is the request of a
// second message.
template <class Start, class Wait>
Result message(const Start& start, void* status, const Wait& wait,
               Handle* sent = nullptr) noexcept {
  try {
    const MpiLayer& here = mpi_layer();
    if (here.layer == nullptr || !here.layer->has_requests()) return wait(here.real);
    Handle request = 0;
    if (const Result result = start(here.real, &request); result != mpi::kSuccess) return result;
    if (status == nullptr) status = here.layer->library().status_ignore;
    const auto over = [&](Handle* which, void* into) {
      return until_done(
          [&](const Functions& real, int* done) { return real.Test(which, done, into); },
          [&](const Functions& real) { return real.Wait(which, into); });
    };
    if (sent != nullptr)
      if (const Result result = over(sent, here.layer->library().status_ignore);
          result != mpi::kSuccess)
        return result;
    return over(&request, status);
  } catch (const std::exception&) {
    return mpi::kMissing;
  }
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

// Functions of both widths of counts, blocking and not: `name` and `real` take the names of both
// forms, PARAMETER and ARGUMENT are the request of those that do not block.
#define POLYPATH_MPI_ENTRIES(number, name, real, PARAMETER, ARGUMENT)                              \
  Result name(Allreduce, Iallreduce)(const void* send, void* receive, number count, Handle type,   \
                                     Handle op, Handle comm PARAMETER) {                           \
    return reduction<number>(Operation::all_reduce, real(Allreduce, Iallreduce), send, receive,    \
                             count, type, op, comm ARGUMENT);                                      \
  }                                                                                                \
  Result name(Scan, Iscan)(const void* send, void* receive, number count, Handle type, Handle op,  \
                           Handle comm PARAMETER) {                                                \
    return reduction<number>(Operation::scan, real(Scan, Iscan), send, receive, count, type, op,   \
                             comm ARGUMENT);                                                       \
  }                                                                                                \
  Result name(Exscan, Iexscan)(const void* send, void* receive, number count, Handle type,         \
                               Handle op, Handle comm PARAMETER) {                                 \
    return reduction<number>(Operation::exclusive_scan, real(Exscan, Iexscan), send, receive,      \
                             count, type, op, comm ARGUMENT);                                      \
  }                                                                                                \
  Result name(Reduce, Ireduce)(const void* send, void* receive, number count, Handle type,         \
                               Handle op, int root, Handle comm PARAMETER) {                       \
    return reduce<number>(real(Reduce, Ireduce), send, receive, count, type, op, root,             \
                          comm ARGUMENT);                                                          \
  }                                                                                                \
  Result name(Reduce_scatter, Ireduce_scatter)(const void* send, void* receive,                    \
                                               const number* counts, Handle type, Handle op,       \
                                               Handle comm PARAMETER) {                            \
    return reduce_scatter<number>(real(Reduce_scatter, Ireduce_scatter), send, receive, counts,    \
                                  type, op, comm ARGUMENT);                                        \
  }                                                                                                \
  Result name(Reduce_scatter_block, Ireduce_scatter_block)(const void* send, void* receive,        \
                                                           number count, Handle type, Handle op,   \
                                                           Handle comm PARAMETER) {                \
    return reduce_scatter_block<number>(real(Reduce_scatter_block, Ireduce_scatter_block), send,   \
                                        receive, count, type, op, comm ARGUMENT);                  \
  }                                                                                                \
  Result name(Bcast, Ibcast)(void* memory, number count, Handle type, int root,                    \
                             Handle comm PARAMETER) {                                              \
    return broadcast<number>(real(Bcast, Ibcast), memory, count, type, root, comm ARGUMENT);       \
  }                                                                                                \
  Result name(Allgather, Iallgather)(const void* send, number send_count, Handle send_type,        \
                                     void* receive, number receive_count, Handle receive_type,     \
                                     Handle comm PARAMETER) {                                      \
    return to_all<number>(Operation::all_gather, real(Allgather, Iallgather), send, send_count,    \
                          send_type, receive, receive_count, receive_type, comm ARGUMENT);         \
  }                                                                                                \
  Result name(Alltoall, Ialltoall)(const void* send, number send_count, Handle send_type,          \
                                   void* receive, number receive_count, Handle receive_type,       \
                                   Handle comm PARAMETER) {                                        \
    return to_all<number>(Operation::all_to_all, real(Alltoall, Ialltoall), send, send_count,      \
                          send_type, receive, receive_count, receive_type, comm ARGUMENT);         \
  }                                                                                                \
  Result name(Allgatherv, Iallgatherv)(                                                            \
      const void* send, number send_count, Handle send_type, void* receive, const number* counts,  \
      const number* displacements, Handle receive_type, Handle comm PARAMETER) {                   \
    return all_gather_v<number>(real(Allgatherv, Iallgatherv), send, send_count, send_type,        \
                                receive, counts, displacements, receive_type, comm ARGUMENT);      \
  }                                                                                                \
  Result name(Gather, Igather)(const void* send, number send_count, Handle send_type,              \
                               void* receive, number receive_count, Handle receive_type, int root, \
                               Handle comm PARAMETER) {                                            \
    return at_root<number>(Operation::gather, real(Gather, Igather), send, send_count, send_type,  \
                           receive, receive_count, receive_type, root, comm ARGUMENT);             \
  }                                                                                                \
  Result name(Scatter, Iscatter)(const void* send, number send_count, Handle send_type,            \
                                 void* receive, number receive_count, Handle receive_type,         \
                                 int root, Handle comm PARAMETER) {                                \
    return at_root<number>(Operation::scatter, real(Scatter, Iscatter), send, send_count,          \
                           send_type, receive, receive_count, receive_type, root, comm ARGUMENT);  \
  }                                                                                                \
  Result name(Gatherv, Igatherv)(const void* send, number send_count, Handle send_type,            \
                                 void* receive, const number* counts, const number* displacements, \
                                 Handle receive_type, int root, Handle comm PARAMETER) {           \
    return gather_v<number>(real(Gatherv, Igatherv), send, send_count, send_type, receive, counts, \
                            displacements, receive_type, root, comm ARGUMENT);                     \
  }                                                                                                \
  Result name(Scatterv, Iscatterv)(                                                                \
      const void* send, const number* counts, const number* displacements, Handle send_type,       \
      void* receive, number receive_count, Handle receive_type, int root, Handle comm PARAMETER) { \
    return scatter_v<number>(real(Scatterv, Iscatterv), send, counts, displacements, send_type,    \
                             receive, receive_count, receive_type, root, comm ARGUMENT);           \
  }                                                                                                \
  Result name(Alltoallv, Ialltoallv)(const void* send, const number* send_counts,                  \
                                     const number* send_at, Handle send_type, void* receive,       \
                                     const number* receive_counts, const number* receive_at,       \
                                     Handle receive_type, Handle comm PARAMETER) {                 \
    return all_to_all_v<number>(Operation::all_to_all_v, real(Alltoallv, Ialltoallv), send,        \
                                send_counts, send_at, send_type, receive, receive_counts,          \
                                receive_at, receive_type, comm ARGUMENT);                          \
  }                                                                                                \
  Result name(Alltoallw, Ialltoallw)(const void* send, const number* send_counts,                  \
                                     const number* send_at, const void* send_type, void* receive,  \
                                     const number* receive_counts, const number* receive_at,       \
                                     const void* receive_type, Handle comm PARAMETER) {            \
    return all_to_all_v<number>(Operation::all_to_all_w, real(Alltoallw, Ialltoallw), send,        \
                                send_counts, send_at, send_type, receive, receive_counts,          \
                                receive_at, receive_type, comm ARGUMENT);                          \
  }

#define POLYPATH_BLOCKING(blocking, nonblocking) MPI_##blocking
#define POLYPATH_BLOCKING_C(blocking, nonblocking) MPI_##blocking##_c
#define POLYPATH_NONBLOCKING(blocking, nonblocking) MPI_##nonblocking
#define POLYPATH_NONBLOCKING_C(blocking, nonblocking) MPI_##nonblocking##_c
#define POLYPATH_REAL(blocking, nonblocking) \
  [](const Functions& functions) { return functions.blocking; }
#define POLYPATH_REAL_C(blocking, nonblocking)                                 \
  [](const Functions& functions) {                                             \
    return EitherWidth{functions, functions.blocking##_c, functions.blocking}; \
  }
#define POLYPATH_REAL_I(blocking, nonblocking) \
  [](const Functions& functions) { return functions.nonblocking; }
#define POLYPATH_REAL_I_C(blocking, nonblocking)                                     \
  [](const Functions& functions) {                                                   \
    return EitherWidth{functions, functions.nonblocking##_c, functions.nonblocking}; \
  }
#define POLYPATH_REQUEST_PARAMETER , void* request
#define POLYPATH_REQUEST_ARGUMENT , request

POLYPATH_MPI_ENTRIES(int, POLYPATH_BLOCKING, POLYPATH_REAL, , )
POLYPATH_MPI_ENTRIES(Count, POLYPATH_BLOCKING_C, POLYPATH_REAL_C, , )
POLYPATH_MPI_ENTRIES(int, POLYPATH_NONBLOCKING, POLYPATH_REAL_I, POLYPATH_REQUEST_PARAMETER,
                     POLYPATH_REQUEST_ARGUMENT)
POLYPATH_MPI_ENTRIES(Count, POLYPATH_NONBLOCKING_C, POLYPATH_REAL_I_C, POLYPATH_REQUEST_PARAMETER,
                     POLYPATH_REQUEST_ARGUMENT)
Result MPI_Comm_dup(Handle comm, void* made) {
  return communicator(
      [&](const Functions& real) { return call_if_there(real.Comm_dup, comm, made); }, made);
}

Result MPI_Comm_dup_with_info(Handle comm, Handle info, void* made) {
  return communicator(
      [&](const Functions& real) {
        return call_if_there(real.Comm_dup_with_info, comm, info, made);
      },
      made);
}

Result MPI_Comm_split(Handle comm, int color, int key, void* made) {
  return communicator(
      [&](const Functions& real) { return call_if_there(real.Comm_split, comm, color, key, made); },
      made);
}

Result MPI_Comm_split_type(Handle comm, int type, int key, Handle info, void* made) {
  return communicator(
      [&](const Functions& real) {
        return call_if_there(real.Comm_split_type, comm, type, key, info, made);
      },
      made);
}

Result MPI_Comm_create(Handle comm, Handle group, void* made) {
  return communicator(
      [&](const Functions& real) { return call_if_there(real.Comm_create, comm, group, made); },
      made);
}

Result MPI_Comm_create_group(Handle comm, Handle group, int tag, void* made) {
  return communicator(
      [&](const Functions& real) {
        return call_if_there(real.Comm_create_group, comm, group, tag, made);
      },
      made);
}

Result MPI_Cart_create(Handle comm, int dimensions, const int* sizes, const int* are_rings,
                       int reorders, void* made) {
  return communicator(
      [&](const Functions& real) {
        return call_if_there(real.Cart_create, comm, dimensions, sizes, are_rings, reorders, made);
      },
      made);
}

Result MPI_Cart_sub(Handle comm, const int* kept, void* made) {
  return communicator(
      [&](const Functions& real) { return call_if_there(real.Cart_sub, comm, kept, made); }, made);
}

Result MPI_Wait(void* request, void* status) {
  return until_done(
      [&](const Functions& real, int* done) { return real.Test(request, done, status); },
      [&](const Functions& real) { return call_if_there(real.Wait, request, status); });
}

Result MPI_Waitall(int count, void* requests, void* statuses) {
  return until_done([&](const Functions& real,
                        int* done) { return real.Testall(count, requests, done, statuses); },
                    [&](const Functions& real) {
                      return call_if_there(real.Waitall, count, requests, statuses);
                    });
}

Result MPI_Waitany(int count, void* requests, int* which, void* status) {
  return until_done([&](const Functions& real,
                        int* done) { return real.Testany(count, requests, which, done, status); },
                    [&](const Functions& real) {
                      return call_if_there(real.Waitany, count, requests, which, status);
                    });
}

Result MPI_Waitsome(int count, void* requests, int* many, int* which, void* statuses) {
  return until_done(
      [&](const Functions& real, int* done) {
        const Result result = real.Testsome(count, requests, many, which, statuses);
        *done = *many;  // MPI_UNDEFINED, if there is nothing to wait for
        return result;
      },
      [&](const Functions& real) {
        return call_if_there(real.Waitsome, count, requests, many, which, statuses);
      });
}

Result MPI_Test(void* request, int* done, void* status) {
  return once(
      [&](const Functions& real) { return call_if_there(real.Test, request, done, status); });
}

Result MPI_Testall(int count, void* requests, int* done, void* statuses) {
  return once([&](const Functions& real) {
    return call_if_there(real.Testall, count, requests, done, statuses);
  });
}

Result MPI_Testany(int count, void* requests, int* which, int* done, void* status) {
  return once([&](const Functions& real) {
    return call_if_there(real.Testany, count, requests, which, done, status);
  });
}

Result MPI_Testsome(int count, void* requests, int* many, int* which, void* statuses) {
  return once([&](const Functions& real) {
    return call_if_there(real.Testsome, count, requests, many, which, statuses);
  });
}

Result MPI_Request_get_status(Handle request, int* done, void* status) {
  return once([&](const Functions& real) {
    return call_if_there(real.Request_get_status, request, done, status);
  });
}

// Messages block: while calls of ours are to be begun, they are waited for piece by piece.

Result MPI_Send(const void* memory, int count, Handle type, int to, int tag, Handle comm) {
  return message(
      [&](const Functions& real, void* request) {
        return real.Isend(memory, count, type, to, tag, comm, request);
      },
      nullptr,
      [&](const Functions& real) {
        return call_if_there(real.Send, memory, count, type, to, tag, comm);
      });
}

Result MPI_Ssend(const void* memory, int count, Handle type, int to, int tag, Handle comm) {
  return message(
      [&](const Functions& real, void* request) {
        return real.Issend(memory, count, type, to, tag, comm, request);
      },
      nullptr,
      [&](const Functions& real) {
        return call_if_there(real.Ssend, memory, count, type, to, tag, comm);
      });
}

Result MPI_Recv(void* memory, int count, Handle type, int from, int tag, Handle comm,
                void* status) {
  return message(
      [&](const Functions& real, void* request) {
        return real.Irecv(memory, count, type, from, tag, comm, request);
      },
      status,
      [&](const Functions& real) {
        return call_if_there(real.Recv, memory, count, type, from, tag, comm, status);
      });
}

Result MPI_Probe(int from, int tag, Handle comm, void* status) {
  return until_done(
      [&](const Functions& real, int* done) { return real.Iprobe(from, tag, comm, done, status); },
      [&](const Functions& real) { return call_if_there(real.Probe, from, tag, comm, status); });
}

Result MPI_Sendrecv(const void* send, int send_count, Handle send_type, int to, int send_tag,
                    void* receive, int receive_count, Handle receive_type, int from,
                    int receive_tag, Handle comm, void* status) {
  Handle sent = 0;
  return message(
      [&](const Functions& real, void* request) {
        const Result result =
            real.Irecv(receive, receive_count, receive_type, from, receive_tag, comm, request);
        if (result != polypath::mpi::kSuccess) return result;
        return real.Isend(send, send_count, send_type, to, send_tag, comm, &sent);
      },
      status,
      [&](const Functions& real) {
        return call_if_there(real.Sendrecv, send, send_count, send_type, to, send_tag, receive,
                             receive_count, receive_type, from, receive_tag, comm, status);
      },
      &sent);
}
}
#pragma GCC visibility pop

namespace polypath::preload {
namespace {

struct MpiEntry {
  const char* name;
  void* function;
};

#define POLYPATH_ENTRY(name, ...) {"MPI_" #name, reinterpret_cast<void*>(&MPI_##name)},
#define POLYPATH_TWO_ENTRIES(name, nonblocking, ...) \
  POLYPATH_ENTRY(name) POLYPATH_ENTRY(nonblocking)
const MpiEntry kEntries[] = {
    POLYPATH_MPI_COLLECTIVES(POLYPATH_TWO_ENTRIES)
        POLYPATH_MPI_LARGE_COLLECTIVES(POLYPATH_TWO_ENTRIES) POLYPATH_MPI_LIFE(POLYPATH_ENTRY)
            POLYPATH_MPI_COMMUNICATORS(POLYPATH_ENTRY) POLYPATH_MPI_COMPLETIONS(POLYPATH_ENTRY)
                POLYPATH_MPI_MESSAGES(POLYPATH_ENTRY)};
#undef POLYPATH_TWO_ENTRIES
#undef POLYPATH_ENTRY

void* entry_of(const char* name) {
  for (const MpiEntry& entry : kEntries)
    if (std::strcmp(entry.name, name) == 0) return entry.function;
  return nullptr;
}

__attribute__((constructor)) void give_entries() { set_mpi_entries(&entry_of); }

}  // namespace
}  // namespace polypath::preload
