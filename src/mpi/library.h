#pragma once
// The MPI of this process: its functions, by their profiling names, and its constants.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "model/reduction.h"
#include "mpi/abi.h"

namespace polypath::mpi {

/// Null for those that the library does not have.
struct Functions {
#define POLYPATH_DECLARE(name, ...) Result (*name)(__VA_ARGS__) = nullptr;
  POLYPATH_MPI_COMMUNICATORS(POLYPATH_DECLARE)
  POLYPATH_MPI_COMPLETIONS(POLYPATH_DECLARE)
  POLYPATH_MPI_MESSAGES(POLYPATH_DECLARE)
  POLYPATH_MPI_PERSISTENT(POLYPATH_DECLARE)
  POLYPATH_MPI_LIFE(POLYPATH_DECLARE)
  POLYPATH_MPI_WINDOWS(POLYPATH_DECLARE)
  POLYPATH_MPI_ONE_ELEMENT(POLYPATH_DECLARE)
  POLYPATH_MPI_QUESTIONS(POLYPATH_DECLARE)
#undef POLYPATH_DECLARE
#define POLYPATH_DECLARE(name, nonblocking, ...) \
  Result (*name)(__VA_ARGS__) = nullptr;         \
  Result (*nonblocking)(__VA_ARGS__, void*) = nullptr;
  POLYPATH_MPI_COLLECTIVES(POLYPATH_DECLARE)
  POLYPATH_MPI_ONE_SIDED(POLYPATH_DECLARE)
#undef POLYPATH_DECLARE
#define POLYPATH_DECLARE(name, requesting, ...) \
  Result (*name##_c)(__VA_ARGS__) = nullptr;    \
  Result (*requesting##_c)(__VA_ARGS__, void*) = nullptr;
  POLYPATH_MPI_LARGE_ONE_SIDED(POLYPATH_DECLARE)
#undef POLYPATH_DECLARE
#define POLYPATH_DECLARE(name, nonblocking, ...)           \
  Result (*name##_c)(__VA_ARGS__) = nullptr;               \
  Result (*nonblocking##_c)(__VA_ARGS__, void*) = nullptr; \
  Result (*name##_init_c)(__VA_ARGS__, Handle, void*) = nullptr;
  POLYPATH_MPI_LARGE_COLLECTIVES(POLYPATH_DECLARE)
#undef POLYPATH_DECLARE
#define POLYPATH_DECLARE(name, nonblocking, ...) \
  Result (*name##_init)(__VA_ARGS__, Handle, void*) = nullptr;
  POLYPATH_MPI_COLLECTIVES(POLYPATH_DECLARE)
#undef POLYPATH_DECLARE
  int (*Query_cuda_support)() = nullptr;  ///< MPIX_Query_cuda_support
};

struct Library {
  Abi abi = Abi::open_mpi;
  Functions real;
  Handle world = 0, self = 0, byte = 0;
  Handle integer = 0;          ///< MPI_INT
  Handle no_communicator = 0;  ///< MPI_COMM_NULL
  Handle sum = 0, product = 0, maximum = 0, minimum = 0;
  void* in_place = nullptr;
  void* status_ignore = nullptr;
  int any_source = 0;
  Handle no_request = 0;                 ///< MPI_REQUEST_NULL
  Result other_error = 0;                ///< MPI_ERR_OTHER
  Handle no_info = 0;                    ///< MPI_INFO_NULL
  Handle no_operation = 0;               ///< MPI_NO_OP
  int window_base = 0, window_size = 0;  ///< MPI_WIN_BASE, MPI_WIN_SIZE
  int lock_exclusive = 0;                ///< MPI_LOCK_EXCLUSIVE
  int threads = 0;                       ///< MPI_THREAD_MULTIPLE

  /// True of an MPI that was built for memory of GPUs, by its own word. After it is initialised.
  [[nodiscard]] bool takes_gpu_memory() const {
    return real.Query_cuda_support != nullptr && real.Query_cuda_support() == 1;
  }
  /// True if any thread may call MPI at any time. After it is initialised.
  [[nodiscard]] bool has_threads() const {
    int level = 0;
    return real.Query_thread != nullptr && real.Query_thread(&level) == kSuccess &&
           level >= threads;
  }
  /// What MPI has written into a word of zeros, or a program passes as an argument.
  [[nodiscard]] Handle handle(Handle written) const {
    return abi == Abi::mpich ? static_cast<std::uint32_t>(written) : written;
  }
  /// That number of an array of handles.
  [[nodiscard]] Handle handle_at(const void* handles, int number) const;
  [[nodiscard]] std::optional<ReduceOperator> operator_of(Handle operation) const;
};

/// The functions as `find` knows them: "MPI_" or "PMPI_" before their names.
Functions functions_named(const std::function<void*(const char* name)>& find,
                          const std::string& prefix);

/// `find` knows functions and constants by their names. `file` is where the library lies: of its
/// name it depends which of the interfaces a library of MPICH has. None if it is no MPI.
std::optional<Library> library_of(const std::function<void*(const char* name)>& find,
                                  std::string_view file);

/// The result of a function that the library does not have: MPI_ERR_OTHER, in MPICH MPI_ERR_INTERN.
inline constexpr Result kMissing = 16;

}  // namespace polypath::mpi
