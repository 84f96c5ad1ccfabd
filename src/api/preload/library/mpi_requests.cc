// MPI's begin and end, communicators, requests and messages as the program finds them when
// libpolypath_preload.so comes before that library.

#include <cstring>
#include <exception>

#include "api/preload/library/mpi_functions.h"
#include "api/preload/mpi_layer.h"

namespace polypath::preload {
namespace {

using mpi::Functions;
using mpi::Handle;
using mpi::Result;

// By `real` a communicator is made, whose handle is at `made` then.
template <class Real>
Result new_communicator(const Real& real, void* made) noexcept {
  try {
    const MpiCall here;
    const Result result = real(here.real);
    if (result == mpi::kSuccess && here.layer != nullptr)
      here.layer->note_made(here.layer->library().handle_at(made, 0));
    return result;
  } catch (const std::exception&) {
    return mpi::kMissing;
  }
}

// Waits with calls of ours under way, which go on meanwhile: `test` says whether it is over.
template <class Test>
Result go_on_until_done(const MpiCall& here, const Test& test) {
  for (int done = 0;;) {
    const Result result = test(here.real, &done);
    if (result != mpi::kSuccess) return result;
    if (done != 0) return here.layer->take_error();
    here.layer->go_on();
  }
}

// A wait of the program's. While no call of ours is under way it is MPI's.
template <class Test, class Wait>
Result until_done(const Test& test, const Wait& wait) noexcept {
  try {
    const MpiCall here;
    if (here.layer == nullptr || !here.layer->has_requests()) return wait(here.real);
    return go_on_until_done(here, test);
  } catch (const std::exception&) {
    return mpi::kMissing;
  }
}

template <class Test>
Result once(const Test& test) noexcept {
  try {
    const MpiCall here;
    if (here.layer == nullptr || !here.layer->has_requests()) return test(here.real);
    here.layer->go_on();
    const Result result = test(here.real);
    return result != mpi::kSuccess ? result : here.layer->take_error();
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
    const MpiCall here;
    if (here.layer == nullptr || !here.layer->has_requests()) return wait(here.real);
    Handle request = 0;
    if (const Result result = start(here.real, &request); result != mpi::kSuccess) return result;
    if (status == nullptr) status = here.layer->library().status_ignore;
    const auto over = [&](Handle* which, void* into) {
      return go_on_until_done(
          here, [&](const Functions& real, int* done) { return real.Test(which, done, into); });
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
Result init(int asked, const Real& real) noexcept {
  try {
    const MpiCall here;
    const auto make = [&](int level) { return real(here.real, level); };
    return here.layer == nullptr ? make(asked) : here.layer->init(has_driver(), asked, make);
  } catch (const std::exception&) {
    return mpi::kMissing;
  }
}

}  // namespace
}  // namespace polypath::preload

namespace polypath::mpi {
extern "C" {

using namespace polypath::preload;  // NOLINT(google-build-using-namespace): these are C's names

Result MPI_Init(int* count, char*** words) {
  constexpr int kSingle = 0;  // MPI_THREAD_SINGLE of every MPI
  return init(kSingle, [&](const Functions& real, int level) {
    int provided = 0;
    return level == kSingle ? call_if_there(real.Init, count, words)
                            : call_if_there(real.Init_thread, count, words, level, &provided);
  });
}

Result MPI_Init_thread(int* count, char*** words, int required, int* provided) {
  return init(required, [&](const Functions& real, int level) {
    return call_if_there(real.Init_thread, count, words, level, provided);
  });
}

Result MPI_Finalize() {
  const MpiCall here;
  if (here.layer != nullptr) here.layer->finalize();
  return call_if_there(here.real.Finalize);
}

Result MPI_Comm_dup(Handle comm, void* made) {
  return new_communicator(
      [&](const Functions& real) { return call_if_there(real.Comm_dup, comm, made); }, made);
}

Result MPI_Comm_dup_with_info(Handle comm, Handle info, void* made) {
  return new_communicator(
      [&](const Functions& real) {
        return call_if_there(real.Comm_dup_with_info, comm, info, made);
      },
      made);
}

Result MPI_Comm_split(Handle comm, int color, int key, void* made) {
  return new_communicator(
      [&](const Functions& real) { return call_if_there(real.Comm_split, comm, color, key, made); },
      made);
}

Result MPI_Comm_split_type(Handle comm, int type, int key, Handle info, void* made) {
  return new_communicator(
      [&](const Functions& real) {
        return call_if_there(real.Comm_split_type, comm, type, key, info, made);
      },
      made);
}

Result MPI_Comm_create(Handle comm, Handle group, void* made) {
  return new_communicator(
      [&](const Functions& real) { return call_if_there(real.Comm_create, comm, group, made); },
      made);
}

Result MPI_Comm_create_group(Handle comm, Handle group, int tag, void* made) {
  return new_communicator(
      [&](const Functions& real) {
        return call_if_there(real.Comm_create_group, comm, group, tag, made);
      },
      made);
}

Result MPI_Cart_create(Handle comm, int dimensions, const int* sizes, const int* are_rings,
                       int reorders, void* made) {
  return new_communicator(
      [&](const Functions& real) {
        return call_if_there(real.Cart_create, comm, dimensions, sizes, are_rings, reorders, made);
      },
      made);
}

Result MPI_Cart_sub(Handle comm, const int* kept, void* made) {
  return new_communicator(
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

Result MPI_Start(void* request) {
  const MpiCall here;
  if (here.layer != nullptr && here.layer->start(request)) return kSuccess;
  return call_if_there(here.real.Start, request);
}

Result MPI_Startall(int count, void* requests) {
  const MpiCall here;
  if (here.layer == nullptr) return call_if_there(here.real.Startall, count, requests);
  const std::size_t size =
      here.layer->library().abi == Abi::mpich ? sizeof(std::uint32_t) : sizeof(Handle);
  for (int each = 0; each < count; ++each) {
    void* const request = static_cast<char*>(requests) + static_cast<std::size_t>(each) * size;
    if (here.layer->start(request)) continue;
    if (const Result result = call_if_there(here.real.Start, request); result != kSuccess)
      return result;
  }
  return kSuccess;
}

Result MPI_Request_free(void* request) {
  const MpiCall here;
  if (here.layer != nullptr)
    here.layer->forget_request(here.layer->library().handle_at(request, 0));
  return call_if_there(here.real.Request_free, request);
}

POLYPATH_MPI_PERSISTENT(POLYPATH_ALIAS)
POLYPATH_MPI_LIFE(POLYPATH_ALIAS)
POLYPATH_MPI_COMMUNICATORS(POLYPATH_ALIAS)
POLYPATH_MPI_COMPLETIONS(POLYPATH_ALIAS)
POLYPATH_MPI_MESSAGES(POLYPATH_ALIAS)
}
}  // namespace polypath::mpi

namespace polypath::preload {
namespace {

struct MpiEntry {
  const char* name;
  void* function;
};

#define POLYPATH_ENTRY(name, ...) {"MPI_" #name, reinterpret_cast<void*>(&mpi::MPI_##name)},
#define POLYPATH_TWO_ENTRIES(name, nonblocking, ...) \
  POLYPATH_ENTRY(name) POLYPATH_ENTRY(nonblocking)
#define POLYPATH_INIT_ENTRY(name, ...) POLYPATH_ENTRY(name##_init)
#define POLYPATH_TWO_LARGE_ENTRIES(name, requesting, ...) \
  POLYPATH_ENTRY(name##_c) POLYPATH_ENTRY(requesting##_c)
#define POLYPATH_LARGE_ENTRIES(name, nonblocking, ...) \
  POLYPATH_ENTRY(name##_c) POLYPATH_ENTRY(nonblocking##_c) POLYPATH_ENTRY(name##_init_c)
const MpiEntry kEntries[] = {
    POLYPATH_MPI_COLLECTIVES(POLYPATH_INIT_ENTRY) POLYPATH_MPI_PERSISTENT(POLYPATH_ENTRY)

        POLYPATH_MPI_COLLECTIVES(POLYPATH_TWO_ENTRIES)
            POLYPATH_MPI_LARGE_COLLECTIVES(POLYPATH_LARGE_ENTRIES) POLYPATH_MPI_LIFE(POLYPATH_ENTRY)
                POLYPATH_MPI_COMMUNICATORS(POLYPATH_ENTRY) POLYPATH_MPI_COMPLETIONS(POLYPATH_ENTRY)
                    POLYPATH_MPI_MESSAGES(POLYPATH_ENTRY)
                        POLYPATH_MPI_ONE_SIDED(POLYPATH_TWO_ENTRIES)
                            POLYPATH_MPI_LARGE_ONE_SIDED(POLYPATH_TWO_LARGE_ENTRIES)
                                POLYPATH_MPI_ONE_ELEMENT(POLYPATH_ENTRY)
                                    POLYPATH_MPI_WINDOWS(POLYPATH_ENTRY)};
#undef POLYPATH_TWO_LARGE_ENTRIES
#undef POLYPATH_LARGE_ENTRIES
#undef POLYPATH_INIT_ENTRY
#undef POLYPATH_TWO_ENTRIES
#undef POLYPATH_ENTRY

void* entry_of(const char* name) {
  if (*name == 'P') ++name;  // the profiling name is the same function's
  for (const MpiEntry& entry : kEntries)
    if (std::strcmp(entry.name, name) == 0) return entry.function;
  return nullptr;
}

__attribute__((constructor)) void give_entries() { set_mpi_entries(&entry_of); }

}  // namespace
}  // namespace polypath::preload
