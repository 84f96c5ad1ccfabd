// The windows of a rank, before an MPI of functions of this file.

#include "mpi/windows.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/error.h"
#include "support/layers.h"

namespace polypath::test::mpi_windows_test {
namespace {

using mpi::Count;
using mpi::Handle;
using mpi::Library;
using mpi::Result;
using mpi::Windows;
using testing::ElementsAreArray;

constexpr Handle kWorld = 1;

/// What has been asked of MPI. Communicators are numbers.
struct Asked {
  std::vector<Handle> made, freed;
  int errors = 0;
};
Asked asked;

/// An MPI of one rank.
Library one_rank() {
  Library library;
  library.other_error = 16;
  mpi::Functions& real = library.real;
  real.Comm_rank = [](Handle, int* rank) { return *rank = 0; };
  real.Comm_size = [](Handle, int* size) { return *size = 1, mpi::kSuccess; };
  real.Comm_split = [](Handle, int, int, void* made) {
    asked.made.push_back(100 + asked.made.size());
    std::memcpy(made, &asked.made.back(), sizeof(Handle));
    return mpi::kSuccess;
  };
  real.Comm_free = [](Handle* comm) {
    asked.freed.push_back(*comm);
    return mpi::kSuccess;
  };
  real.Comm_call_errhandler = [](Handle, int) { return ++asked.errors, mpi::kSuccess; };
  real.Bcast = [](void*, int, Handle, int, Handle) { return mpi::kSuccess; };
  real.Allgather = [](const void* mine, int count, Handle, void* all, int, Handle, Handle) {
    std::memcpy(all, mine, static_cast<std::size_t>(count));
    return mpi::kSuccess;
  };
  return library;
}

class MpiWindows : public testing::Test {
 protected:
  MpiWindows() { asked = {}; }

  Result make_dynamic(Handle window, Result by_mpi = mpi::kSuccess) {
    Handle made = 0;
    return windows_.create_dynamic(kWorld, &made, [&] {
      made = window;
      return by_mpi;
    });
  }

  Library library_ = one_rank();
  Windows windows_{library_,
                   [](GpusOf) -> const mpi::Surroundings& {
                     fail(ErrorCode::unsupported, "there are no GPUs", "this is a test");
                   },
                   [](const void*) { return std::optional<int>(); }, [](Handle) { return true; },
                   [] {}};
};

// Their communicators are freed by all ranks together.
TEST_F(MpiWindows, EndInTheOrderInWhichTheyWereMade) {
  for (Handle window = 1; window <= 40; ++window)
    EXPECT_EQ(make_dynamic(window * 7919 % 104729), mpi::kSuccess);

  windows_.end();

  EXPECT_THAT(asked.freed, ElementsAreArray(asked.made));
}

TEST_F(MpiWindows, AreNoneThatMpiHasNotMade) {
  EXPECT_EQ(make_dynamic(1, 5), 5);

  EXPECT_THAT(asked.freed, ElementsAreArray(asked.made));
  EXPECT_EQ(asked.errors, 0);
}

}  // namespace
}  // namespace polypath::test::mpi_windows_test
