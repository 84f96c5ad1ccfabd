// MPI's begin and end, and its requests as the program finds them when
// libpolypath_preload.so comes before that library.

#include <cstring>
#include <exception>

#include "api/preload/library/mpi_functions.h"
#include "api/preload/mpi_layer.h"

namespace polypath::preload {
namespace {

using mpi::Functions;
using mpi::Result;

// A wait of the program's: `test` says whether it is over. While no request of ours is under way it
// is MPI's.
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

namespace polypath::mpi {
extern "C" {

using namespace polypath::preload;  // NOLINT(google-build-using-namespace): these are C's names

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
const MpiEntry kEntries[] = {POLYPATH_MPI_COLLECTIVES(POLYPATH_TWO_ENTRIES)
                                 POLYPATH_MPI_LARGE_COLLECTIVES(POLYPATH_TWO_ENTRIES)
                                     POLYPATH_MPI_LIFE(POLYPATH_ENTRY)
                                         POLYPATH_MPI_COMPLETIONS(POLYPATH_ENTRY)};
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
