// MPI's windows and one-sided functions as the program finds them when libpolypath_preload.so comes
// before that library.

#include <exception>
#include <limits>
#include <type_traits>

#include "api/preload/library/mpi_functions.h"
#include "api/preload/mpi_layer.h"

namespace polypath::preload {
namespace {

using mpi::Count;
using mpi::Elements;
using mpi::Functions;
using mpi::Handle;
using mpi::Instead;
using mpi::OneSided;
using mpi::OneSidedCall;
using mpi::Result;
using mpi::Window;

void* own(const void* memory) { return const_cast<void*>(memory); }

// A number that is a count of the function that it is handed to, of 32 bits or of 64.
struct Many {
  Count count;
};

// The program's count, or what stands for it.
Many many(const Instead& with, Count count) { return {with.share >= 0 ? with.share : count}; }

template <class Argument>
Argument wide(Argument argument) {
  return argument;
}
Count wide(Many many) { return many.count; }
template <class Argument>
Argument narrow(Argument argument) {
  return argument;
}
int narrow(Many many) { return static_cast<int>(many.count); }
template <class Argument>
bool fits(Argument /*argument*/) {
  return true;
}
bool fits(Many many) {
  return many.count <= std::numeric_limits<int>::max() &&
         many.count >= std::numeric_limits<int>::min();
}

// Programs find ours, and believe that the library has functions of 64 bits.
template <class Number, class Wide, class Narrow, class... Arguments>
Result at_width(Wide large, Narrow small, Arguments... arguments) {
  if constexpr (std::is_same_v<Number, Count>)
    if (large != nullptr) return large(wide(arguments)...);
  return (fits(arguments) && ...) ? call_if_there(small, narrow(arguments)...) : mpi::kMissing;
}

// Calls the layer before MPI, or the real function alone; no exception goes on into the program.
template <class Real>
Result one_sided(OneSidedCall call, const Real& real, void* request = nullptr) noexcept {
  try {
    const MpiCall here;
    const auto with = [&](const Instead& instead) { return real(here.real, instead); };
    const Instead own_arguments = mpi::as_it_is(call, request);
    if (here.layer == nullptr) return with(own_arguments);
    const mpi::Library& library = here.layer->library();
    for (Handle* const handle : {&call.origin.type, &call.compare.type, &call.result.type,
                                 &call.target_type, &call.reduction, &call.window})
      *handle = library.handle(*handle);
    if (call.reduction == library.no_operation && call.origin.memory == nullptr) call.origin = {};
    if (here.layer->windows().is_plain_call(call)) return with(own_arguments);
    return here.layer->windows().call(call, with, request);
  } catch (const std::exception&) {
    return mpi::kMissing;
  }
}

// `call` makes MPI's call; `with` does so for a window that the layer knows.
template <class Real, class With>
Result window_call(Handle window, const Real& real, const With& with) noexcept {
  try {
    const MpiCall here;
    const auto call = [&] { return real(here.real); };
    if (here.layer == nullptr) return call();
    const mpi::Library& library = here.layer->library();
    return here.layer->windows().synchronise(
        library.handle(window), [&](Window& known) { return with(known, library, call); }, call);
  } catch (const std::exception&) {
    return mpi::kMissing;
  }
}

// `with` hands the call to the layer; there it may be made by `call`.
template <class Real, class With>
Result by_layer(const Real& real, const With& with) noexcept {
  try {
    const MpiCall here;
    const auto call = [&](auto... instead) { return real(here.real, instead...); };
    return with(here.layer, call);
  } catch (const std::exception&) {
    return mpi::kMissing;
  }
}

#define POLYPATH_EITHER(number, all, name, requesting, with, ...)  \
  ((with).request == nullptr                                       \
       ? at_width<number>((all).name##_c, (all).name, __VA_ARGS__) \
       : at_width<number>((all).requesting##_c, (all).requesting, __VA_ARGS__, (with).request))

template <class Number>
Result put(const void* origin, Number count, Handle type, int target, Count at, Number target_count,
           Handle target_type, Handle window, void* request = nullptr) {
  return one_sided(
      {.operation = OneSided::put,
       .origin = {own(origin), count, type},
       .target = target,
       .displacement = at,
       .target_count = target_count,
       .target_type = target_type,
       .window = window},
      [=](const Functions& all, const Instead& with) {
        return POLYPATH_EITHER(Number, all, Put, Rput, with, with.origin, many(with, count), type,
                               with.target, with.displacement, many(with, target_count),
                               target_type, with.window);
      },
      request);
}

template <class Number>
Result get(void* result, Number count, Handle type, int target, Count at, Number target_count,
           Handle target_type, Handle window, void* request = nullptr) {
  return one_sided(
      {.operation = OneSided::get,
       .result = {result, count, type},
       .target = target,
       .displacement = at,
       .target_count = target_count,
       .target_type = target_type,
       .window = window},
      [=](const Functions& all, const Instead& with) {
        return POLYPATH_EITHER(Number, all, Get, Rget, with, with.result, many(with, count), type,
                               with.target, with.displacement, many(with, target_count),
                               target_type, with.window);
      },
      request);
}

template <class Number>
Result accumulate(const void* origin, Number count, Handle type, int target, Count at,
                  Number target_count, Handle target_type, Handle op, Handle window,
                  void* request = nullptr) {
  return one_sided(
      {.operation = OneSided::accumulate,
       .origin = {own(origin), count, type},
       .target = target,
       .displacement = at,
       .target_count = target_count,
       .target_type = target_type,
       .reduction = op,
       .window = window},
      [=](const Functions& all, const Instead& with) {
        return POLYPATH_EITHER(Number, all, Accumulate, Raccumulate, with, with.origin,
                               many(with, count), type, with.target, with.displacement,
                               many(with, target_count), target_type, op, with.window);
      },
      request);
}

template <class Number>
Result get_accumulate(const void* origin, Number count, Handle type, void* result,
                      Number result_count, Handle result_type, int target, Count at,
                      Number target_count, Handle target_type, Handle op, Handle window,
                      void* request = nullptr) {
  return one_sided(
      {.operation = OneSided::get_accumulate,
       .origin = {own(origin), count, type},
       .result = {result, result_count, result_type},
       .target = target,
       .displacement = at,
       .target_count = target_count,
       .target_type = target_type,
       .reduction = op,
       .window = window},
      [=](const Functions& all, const Instead& with) {
        return POLYPATH_EITHER(Number, all, Get_accumulate, Rget_accumulate, with, with.origin,
                               many(with, count), type, with.result, many(with, result_count),
                               result_type, with.target, with.displacement,
                               many(with, target_count), target_type, op, with.window);
      },
      request);
}

// Where the program's window is to be, `real` makes it with memory and bytes of the layer's choice.
template <class Real>
Result new_window(const mpi::NewWindow& wanted, const Real& real) {
  return by_layer(real, [&](mpi::Layer* layer, const auto& call) {
    if (layer == nullptr) return call(wanted.memory, wanted.bytes);
    mpi::NewWindow described = wanted;
    described.comm = layer->library().handle(wanted.comm);
    return layer->windows().create(described, call);
  });
}

}  // namespace
}  // namespace polypath::preload

namespace polypath::mpi {
extern "C" {

using namespace polypath::preload;  // NOLINT(google-build-using-namespace): these are C's names

// Functions of both widths of counts, without a request and with one.
#define POLYPATH_ONE_SIDED_ENTRIES(number, suffix)                                                 \
  Result MPI_Put##suffix(const void* origin, number count, Handle type, int target, Count at,      \
                         number many, Handle target_type, Handle window) {                         \
    return put<number>(origin, count, type, target, at, many, target_type, window);                \
  }                                                                                                \
  Result MPI_Rput##suffix(const void* origin, number count, Handle type, int target, Count at,     \
                          number many, Handle target_type, Handle window, void* request) {         \
    return put<number>(origin, count, type, target, at, many, target_type, window, request);       \
  }                                                                                                \
  Result MPI_Get##suffix(void* result, number count, Handle type, int target, Count at,            \
                         number many, Handle target_type, Handle window) {                         \
    return get<number>(result, count, type, target, at, many, target_type, window);                \
  }                                                                                                \
  Result MPI_Rget##suffix(void* result, number count, Handle type, int target, Count at,           \
                          number many, Handle target_type, Handle window, void* request) {         \
    return get<number>(result, count, type, target, at, many, target_type, window, request);       \
  }                                                                                                \
  Result MPI_Accumulate##suffix(const void* origin, number count, Handle type, int target,         \
                                Count at, number many, Handle target_type, Handle op,              \
                                Handle window) {                                                   \
    return accumulate<number>(origin, count, type, target, at, many, target_type, op, window);     \
  }                                                                                                \
  Result MPI_Raccumulate##suffix(const void* origin, number count, Handle type, int target,        \
                                 Count at, number many, Handle target_type, Handle op,             \
                                 Handle window, void* request) {                                   \
    return accumulate<number>(origin, count, type, target, at, many, target_type, op, window,      \
                              request);                                                            \
  }                                                                                                \
  Result MPI_Get_accumulate##suffix(const void* origin, number count, Handle type, void* result,   \
                                    number result_count, Handle result_type, int target, Count at, \
                                    number many, Handle target_type, Handle op, Handle window) {   \
    return get_accumulate<number>(origin, count, type, result, result_count, result_type, target,  \
                                  at, many, target_type, op, window);                              \
  }                                                                                                \
  Result MPI_Rget_accumulate##suffix(const void* origin, number count, Handle type, void* result,  \
                                     number result_count, Handle result_type, int target,          \
                                     Count at, number many, Handle target_type, Handle op,         \
                                     Handle window, void* request) {                               \
    return get_accumulate<number>(origin, count, type, result, result_count, result_type, target,  \
                                  at, many, target_type, op, window, request);                     \
  }

POLYPATH_ONE_SIDED_ENTRIES(int, )
POLYPATH_ONE_SIDED_ENTRIES(Count, _c)

Result MPI_Fetch_and_op(const void* origin, void* result, Handle type, int target, Count at,
                        Handle op, Handle window) {
  return one_sided({.operation = OneSided::fetch_and_op,
                    .origin = {own(origin), 1, type},
                    .result = {result, 1, type},
                    .target = target,
                    .displacement = at,
                    .target_count = 1,
                    .target_type = type,
                    .reduction = op,
                    .window = window},
                   [=](const Functions& all, const Instead& with) {
                     return call_if_there(all.Fetch_and_op, with.origin, with.result, type,
                                          with.target, with.displacement, op, with.window);
                   });
}

Result MPI_Compare_and_swap(const void* origin, const void* compare, void* result, Handle type,
                            int target, Count at, Handle window) {
  return one_sided({.operation = OneSided::compare_and_swap,
                    .origin = {own(origin), 1, type},
                    .compare = {own(compare), 1, type},
                    .result = {result, 1, type},
                    .target = target,
                    .displacement = at,
                    .target_count = 1,
                    .target_type = type,
                    .window = window},
                   [=](const Functions& all, const Instead& with) {
                     return call_if_there(all.Compare_and_swap, with.origin, with.compare,
                                          with.result, type, with.target, with.displacement,
                                          with.window);
                   });
}

Result MPI_Win_create(void* memory, Count bytes, int unit, Handle info, Handle comm, void* window) {
  return new_window(
      {.memory = memory, .bytes = bytes, .unit = unit, .comm = comm, .window = window},
      [=](const Functions& all, void* instead, Count size) {
        return call_if_there(all.Win_create, instead, size, unit, info, comm, window);
      });
}

Result MPI_Win_create_c(void* memory, Count bytes, Count unit, Handle info, Handle comm,
                        void* window) {
  return new_window(
      {.memory = memory, .bytes = bytes, .unit = unit, .comm = comm, .window = window},
      [=](const Functions& all, void* instead, Count size) {
        return at_width<Count>(all.Win_create_c, all.Win_create, instead, size, Many{unit}, info,
                               comm, window);
      });
}

Result MPI_Win_create_dynamic(Handle info, Handle comm, void* window) {
  return by_layer(
      [=](const Functions& all) {
        return call_if_there(all.Win_create_dynamic, info, comm, window);
      },
      [=](Layer* layer, const auto& call) {
        if (layer == nullptr) return call();
        return layer->windows().create_dynamic(layer->library().handle(comm), window, call);
      });
}

Result MPI_Win_attach(Handle window, void* memory, Count bytes) {
  return by_layer(
      [=](const Functions& all) { return call_if_there(all.Win_attach, window, memory, bytes); },
      [=](Layer* layer, const auto& call) {
        if (layer == nullptr) return call();
        return layer->windows().attach(layer->library().handle(window), memory, bytes, call);
      });
}

Result MPI_Win_detach(Handle window, const void* memory) {
  return by_layer(
      [=](const Functions& all) { return call_if_there(all.Win_detach, window, memory); },
      [=](Layer* layer, const auto& call) {
        if (layer == nullptr) return call();
        return layer->windows().detach(layer->library().handle(window), memory, call);
      });
}

Result MPI_Win_free(void* window) {
  return by_layer([=](const Functions& all) { return call_if_there(all.Win_free, window); },
                  [=](Layer* layer, const auto& call) {
                    if (layer == nullptr) return call();
                    return layer->windows().free(layer->library().handle_at(window, 0), call);
                  });
}

Result MPI_Win_get_attr(Handle window, int keyval, void* value, int* is_there) {
  return by_layer(
      [=](const Functions& all) {
        return call_if_there(all.Win_get_attr, window, keyval, value, is_there);
      },
      [=](Layer* layer, const auto& call) {
        const bool is_ours =
            layer != nullptr &&
            layer->windows().attribute(layer->library().handle(window), keyval, value, is_there);
        return is_ours ? kSuccess : call();
      });
}

Result MPI_Win_fence(int hints, Handle window) {
  return window_call(
      window, [=](const Functions& all) { return call_if_there(all.Win_fence, hints, window); },
      [](Window& known, const Library&, const RealSync& call) { return known.fence(call); });
}

Result MPI_Win_post(Handle group, int hints, Handle window) {
  return window_call(
      window,
      [=](const Functions& all) { return call_if_there(all.Win_post, group, hints, window); },
      [=](Window& known, const Library& library, const RealSync& call) {
        return known.post(library.handle(group), call);
      });
}

Result MPI_Win_start(Handle group, int hints, Handle window) {
  return window_call(
      window,
      [=](const Functions& all) { return call_if_there(all.Win_start, group, hints, window); },
      [=](Window& known, const Library& library, const RealSync& call) {
        return known.start(library.handle(group), call);
      });
}

Result MPI_Win_complete(Handle window) {
  return window_call(
      window, [=](const Functions& all) { return call_if_there(all.Win_complete, window); },
      [](Window& known, const Library&, const RealSync& call) { return known.complete(call); });
}

Result MPI_Win_wait(Handle window) {
  return window_call(
      window, [=](const Functions& all) { return call_if_there(all.Win_wait, window); },
      [](Window& known, const Library&, const RealSync& call) {
        return known.wait(call, [] { return true; });
      });
}

Result MPI_Win_test(Handle window, int* is_over) {
  return window_call(
      window, [=](const Functions& all) { return call_if_there(all.Win_test, window, is_over); },
      [=](Window& known, const Library&, const RealSync& call) {
        return known.wait(call, [=] { return *is_over != 0; });
      });
}

Result MPI_Win_lock(int kind, int target, int hints, Handle window) {
  return window_call(
      window,
      [=](const Functions& all) {
        return call_if_there(all.Win_lock, kind, target, hints, window);
      },
      [=](Window& known, const Library& library, const RealSync& call) {
        return known.lock(target, kind == library.lock_exclusive, call);
      });
}

Result MPI_Win_unlock(int target, Handle window) {
  return window_call(
      window, [=](const Functions& all) { return call_if_there(all.Win_unlock, target, window); },
      [=](Window& known, const Library&, const RealSync& call) {
        return known.unlock(target, call);
      });
}

Result MPI_Win_lock_all(int hints, Handle window) {
  return window_call(
      window, [=](const Functions& all) { return call_if_there(all.Win_lock_all, hints, window); },
      [](Window& known, const Library&, const RealSync& call) { return known.lock_all(call); });
}

Result MPI_Win_unlock_all(Handle window) {
  return window_call(
      window, [=](const Functions& all) { return call_if_there(all.Win_unlock_all, window); },
      [](Window& known, const Library&, const RealSync& call) { return known.unlock_all(call); });
}

Result MPI_Win_flush(int target, Handle window) {
  return window_call(
      window, [=](const Functions& all) { return call_if_there(all.Win_flush, target, window); },
      [=](Window& known, const Library&, const RealSync& call) {
        return known.flush(target, call);
      });
}

Result MPI_Win_flush_local(int target, Handle window) {
  return window_call(
      window,
      [=](const Functions& all) { return call_if_there(all.Win_flush_local, target, window); },
      [=](Window& known, const Library&, const RealSync& call) {
        return known.flush(target, call);
      });
}

Result MPI_Win_flush_all(Handle window) {
  return window_call(
      window, [=](const Functions& all) { return call_if_there(all.Win_flush_all, window); },
      [](Window& known, const Library&, const RealSync& call) { return known.flush_all(call); });
}

Result MPI_Win_flush_local_all(Handle window) {
  return window_call(
      window, [=](const Functions& all) { return call_if_there(all.Win_flush_local_all, window); },
      [](Window& known, const Library&, const RealSync& call) { return known.flush_all(call); });
}

Result MPI_Win_sync(Handle window) {
  return window_call(
      window, [=](const Functions& all) { return call_if_there(all.Win_sync, window); },
      [](Window& known, const Library&, const RealSync& call) { return known.sync(call); });
}

POLYPATH_MPI_ONE_SIDED(POLYPATH_ALIAS_TWO)
POLYPATH_MPI_LARGE_ONE_SIDED(POLYPATH_ALIAS_TWO_LARGE)
POLYPATH_MPI_ONE_ELEMENT(POLYPATH_ALIAS)
POLYPATH_MPI_WINDOWS(POLYPATH_ALIAS)
}
}  // namespace polypath::mpi
