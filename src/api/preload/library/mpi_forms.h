#pragma once
// The forms that MPI's collective functions have, each as one template: it describes the call for
// the layer before MPI, and makes it with other memory, or on another communicator of the same
// ranks. `real` finds MPI's own function; `request` is nothing, or where the request of a
// non-blocking call is to be.

#include <deque>
#include <exception>
#include <limits>
#include <tuple>
#include <type_traits>
#include <vector>

#include "api/preload/library/mpi_functions.h"
#include "api/preload/mpi_layer.h"

namespace polypath::preload {

using mpi::Call;
using mpi::Count;
using mpi::Functions;
using mpi::Handle;
using mpi::Operation;
using mpi::Result;
using mpi::Side;

// What a call is handed on as: one that blocks, one with a request, a persistent one.
template <class With>
Result hand_on(mpi::Layer& layer, const Call& call, const With& with) {
  const auto real = [&](const void* send, void* receive) { return with(call.comm, send, receive); };
  return layer.collective(call, real);
}
template <class With>
Result hand_on(mpi::Layer& layer, const Call& call, const With& with, void* request) {
  return layer.begin(call, with, request);
}
template <class With>
Result hand_on(mpi::Layer& layer, const Call& call, const With& with, Handle info, void* request) {
  const auto start = [with, info](Handle on, const void* send, void* receive, void* place) {
    return with(on, send, receive, info, place);
  };
  return layer.make_persistent(call, start, request);
}

// Calls the layer before MPI, or the real functions alone; no exception goes on into the program.
// `request`: none; the place of the request of a non-blocking call; info and that place of a
// persistent one. Of both `real` is kept.
template <class Make, class Real, class... Request>
Result call(Handle comm, const Make& make, const Real& real, const void* send, void* receive,
            Request... request) noexcept {
  try {
    const MpiCall here;
    if (here.layer == nullptr) return real(here.real, comm, send, receive, request...);
    const mpi::Library& library = here.layer->library();
    if (here.layer->is_plain_call(library.handle(comm), send, receive, sizeof...(Request) == 0))
      return real(here.real, comm, send, receive, request...);
    int is_inter = 0;  // then counts are of the other group
    library.real.Comm_test_inter(library.handle(comm), &is_inter);
    if (is_inter != 0) return real(here.real, comm, send, receive, request...);
    Call described = make(library);
    described.comm = library.handle(comm);
    described.reduction = library.handle(described.reduction);
    described.send.type = library.handle(described.send.type);
    described.receive.type = library.handle(described.receive.type);
    const auto with = [real, &next = here.real](Handle on, const void* given, void* taken,
                                                auto... other) {
      return real(next, on, given, taken, other...);
    };
    return hand_on(*here.layer, described, with, request...);
  } catch (const std::exception&) {
    return mpi::kMissing;
  }
}

void* writable(const void* memory) { return const_cast<void*>(memory); }

struct Ranks {
  int rank = 0, size = 1;
};

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

// kBehind: how many arguments stand behind the communicator: none, the request of a non-blocking
// call, info and that of a persistent one.
template <std::size_t kBehind, class Wide, class Narrow>
struct EitherWidth {
  const Functions& functions;
  Wide wide;
  Narrow narrow;
};

template <std::size_t kBehind, class Wide, class Narrow>
EitherWidth<kBehind, Wide, Narrow> either_width(const Functions& functions, Wide wide,
                                                Narrow narrow) {
  return {functions, wide, narrow};
}

template <std::size_t kBehind, class Wide, class Narrow, class... Arguments>
Result call_if_there(const EitherWidth<kBehind, Wide, Narrow>& either, Arguments... arguments) {
  if (either.wide != nullptr) return either.wide(arguments...);
  int ranks = 0;
  const Handle comm = std::get<sizeof...(arguments) - 1 - kBehind>(std::tuple(arguments...));
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
      [=](const Functions& all, Handle on, const void* given, void* taken, auto... other) {
        return call_if_there(real(all), given, taken, count, type, op, on, other...);
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
      [=](const Functions& all, Handle on, const void* given, void* taken, auto... other) {
        return call_if_there(real(all), given, taken, count, type, op, root, on, other...);
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
      [=](const Functions& all, Handle on, const void* given, void* taken, auto... other) {
        return call_if_there(real(all), given, taken, counts, type, op, on, other...);
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
      [=](const Functions& all, Handle on, const void* given, void* taken, auto... other) {
        return call_if_there(real(all), given, taken, count, type, op, on, other...);
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
      [=](const Functions& all, Handle on, const void*, void* taken, auto... other) {
        return call_if_there(real(all), taken, count, type, root, on, other...);
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
      [=](const Functions& all, Handle on, const void* given, void* taken, auto... other) {
        return call_if_there(real(all), given, send_count, send_type, taken, receive_count,
                             receive_type, on, other...);
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
      [=](const Functions& all, Handle on, const void* given, void* taken, auto... other) {
        return call_if_there(real(all), given, send_count, send_type, taken, counts, displacements,
                             receive_type, on, other...);
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
      [=](const Functions& all, Handle on, const void* given, void* taken, auto... other) {
        return call_if_there(real(all), given, send_count, send_type, taken, receive_count,
                             receive_type, root, on, other...);
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
      [=](const Functions& all, Handle on, const void* given, void* taken, auto... other) {
        return call_if_there(real(all), given, send_count, send_type, taken, counts, displacements,
                             receive_type, root, on, other...);
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
      [=](const Functions& all, Handle on, const void* given, void* taken, auto... other) {
        return call_if_there(real(all), given, counts, displacements, send_type, taken,
                             receive_count, receive_type, root, on, other...);
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
      [=](const Functions& all, Handle on, const void* given, void* taken, auto... other) {
        return call_if_there(real(all), given, send_counts, send_at, send_type, taken,
                             receive_counts, receive_at, receive_type, on, other...);
      },
      send, receive, request...);
}

}  // namespace polypath::preload
