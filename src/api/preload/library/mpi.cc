// MPI's collective functions as the program finds them when libpolypath_preload.so comes before
// that library.

#include "api/preload/library/mpi_forms.h"

namespace polypath::mpi {
extern "C" {

using namespace polypath::preload;  // NOLINT(google-build-using-namespace): these are C's names

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
#define POLYPATH_REAL_C(blocking, nonblocking)                                     \
  [](const Functions& functions) {                                                 \
    return either_width<0>(functions, functions.blocking##_c, functions.blocking); \
  }
#define POLYPATH_REAL_I(blocking, nonblocking) \
  [](const Functions& functions) { return functions.nonblocking; }
#define POLYPATH_REAL_I_C(blocking, nonblocking)                                         \
  [](const Functions& functions) {                                                       \
    return either_width<1>(functions, functions.nonblocking##_c, functions.nonblocking); \
  }
#define POLYPATH_PERSISTENT(blocking, nonblocking) MPI_##blocking##_init
#define POLYPATH_REAL_PERSISTENT(blocking, nonblocking) \
  [](const Functions& functions) { return functions.blocking##_init; }
#define POLYPATH_PERSISTENT_C(blocking, nonblocking) MPI_##blocking##_init_c
#define POLYPATH_REAL_PERSISTENT_C(blocking, nonblocking)                                      \
  [](const Functions& functions) {                                                             \
    return either_width<2>(functions, functions.blocking##_init_c, functions.blocking##_init); \
  }
#define POLYPATH_PERSISTENT_PARAMETERS , Handle info, void *request
#define POLYPATH_PERSISTENT_ARGUMENTS , info, request
#define POLYPATH_REQUEST_PARAMETER , void* request
#define POLYPATH_REQUEST_ARGUMENT , request

POLYPATH_MPI_ENTRIES(int, POLYPATH_BLOCKING, POLYPATH_REAL, , )
POLYPATH_MPI_ENTRIES(Count, POLYPATH_BLOCKING_C, POLYPATH_REAL_C, , )
POLYPATH_MPI_ENTRIES(int, POLYPATH_NONBLOCKING, POLYPATH_REAL_I, POLYPATH_REQUEST_PARAMETER,
                     POLYPATH_REQUEST_ARGUMENT)
POLYPATH_MPI_ENTRIES(Count, POLYPATH_NONBLOCKING_C, POLYPATH_REAL_I_C, POLYPATH_REQUEST_PARAMETER,
                     POLYPATH_REQUEST_ARGUMENT)
POLYPATH_MPI_ENTRIES(int, POLYPATH_PERSISTENT, POLYPATH_REAL_PERSISTENT,
                     POLYPATH_PERSISTENT_PARAMETERS, POLYPATH_PERSISTENT_ARGUMENTS)
POLYPATH_MPI_ENTRIES(Count, POLYPATH_PERSISTENT_C, POLYPATH_REAL_PERSISTENT_C,
                     POLYPATH_PERSISTENT_PARAMETERS, POLYPATH_PERSISTENT_ARGUMENTS)

POLYPATH_MPI_COLLECTIVES(POLYPATH_ALIAS_TWO)
POLYPATH_MPI_COLLECTIVES(POLYPATH_ALIAS_PERSISTENT)
POLYPATH_MPI_LARGE_COLLECTIVES(POLYPATH_ALIAS_LARGE)
}
}  // namespace polypath::mpi
