#pragma once
// MPI's functions that libpolypath_preload.so exports. The arguments are MPI's: mpi/abi.h says why
// words stand for all handles.

#include "mpi/library.h"

namespace polypath::preload {

/// A function that the library may lack.
template <class Function, class... Arguments>
mpi::Result call_if_there(Function function, Arguments... arguments) {
  return function == nullptr ? mpi::kMissing : function(arguments...);
}

}  // namespace polypath::preload

#pragma GCC visibility push(default)
extern "C" {

namespace polypath::mpi {
#define POLYPATH_DECLARE(name, ...) Result MPI_##name(__VA_ARGS__);
#define POLYPATH_DECLARE_TWO(name, nonblocking, ...) \
  Result MPI_##name(__VA_ARGS__);                    \
  Result MPI_##nonblocking(__VA_ARGS__, void*);
#define POLYPATH_DECLARE_PERSISTENT(name, nonblocking, ...) \
  Result MPI_##name##_init(__VA_ARGS__, Handle, void*);
#define POLYPATH_DECLARE_LARGE(name, nonblocking, ...) \
  Result MPI_##name##_c(__VA_ARGS__);                  \
  Result MPI_##nonblocking##_c(__VA_ARGS__, void*);    \
  Result MPI_##name##_init_c(__VA_ARGS__, Handle, void*);
#define POLYPATH_DECLARE_TWO_LARGE(name, requesting, ...) \
  Result MPI_##name##_c(__VA_ARGS__);                     \
  Result MPI_##requesting##_c(__VA_ARGS__, void*);
POLYPATH_MPI_COLLECTIVES(POLYPATH_DECLARE_TWO)
POLYPATH_MPI_LARGE_COLLECTIVES(POLYPATH_DECLARE_LARGE)
POLYPATH_MPI_COLLECTIVES(POLYPATH_DECLARE_PERSISTENT)
POLYPATH_MPI_PERSISTENT(POLYPATH_DECLARE)
POLYPATH_MPI_LIFE(POLYPATH_DECLARE)
POLYPATH_MPI_COMMUNICATORS(POLYPATH_DECLARE)
POLYPATH_MPI_COMPLETIONS(POLYPATH_DECLARE)
POLYPATH_MPI_MESSAGES(POLYPATH_DECLARE)
POLYPATH_MPI_ONE_SIDED(POLYPATH_DECLARE_TWO)
POLYPATH_MPI_LARGE_ONE_SIDED(POLYPATH_DECLARE_TWO_LARGE)
POLYPATH_MPI_ONE_ELEMENT(POLYPATH_DECLARE)
POLYPATH_MPI_WINDOWS(POLYPATH_DECLARE)
#undef POLYPATH_DECLARE_TWO_LARGE
#undef POLYPATH_DECLARE_LARGE
#undef POLYPATH_DECLARE_PERSISTENT
#undef POLYPATH_DECLARE_TWO
#undef POLYPATH_DECLARE
}  // namespace polypath::mpi
}
#pragma GCC visibility pop

/// The same functions under the profiling names, which other tools and MPI's own Fortran functions
/// call. Behind the definitions, in namespace polypath::mpi.
#define POLYPATH_ALIAS(name, ...) \
  __attribute__((visibility("default"), alias("MPI_" #name))) Result PMPI_##name(__VA_ARGS__);
#define POLYPATH_ALIAS_TWO(name, nonblocking, ...) \
  POLYPATH_ALIAS(name, __VA_ARGS__)                \
  POLYPATH_ALIAS(nonblocking, __VA_ARGS__, void*)
#define POLYPATH_ALIAS_TWO_LARGE(name, requesting, ...) \
  POLYPATH_ALIAS(name##_c, __VA_ARGS__)                 \
  POLYPATH_ALIAS(requesting##_c, __VA_ARGS__, void*)
#define POLYPATH_ALIAS_PERSISTENT(name, nonblocking, ...) \
  POLYPATH_ALIAS(name##_init, __VA_ARGS__, Handle, void*)
#define POLYPATH_ALIAS_LARGE(name, nonblocking, ...)  \
  POLYPATH_ALIAS(name##_c, __VA_ARGS__)               \
  POLYPATH_ALIAS(nonblocking##_c, __VA_ARGS__, void*) \
  POLYPATH_ALIAS(name##_init_c, __VA_ARGS__, Handle, void*)
