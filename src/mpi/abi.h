#pragma once
// MPI's binary interfaces, as far as they are needed: Open MPI's, that of MPICH and its relatives,
// and the standard one of MPI 5.
//
// A handle is an int in MPICH and a pointer elsewhere. Either is passed in one register, or in one
// slot of the stack, so that functions declared with words take both: the upper half of a word
// means nothing where handles are ints. Memory in which MPI writes a handle is a word of zeros.

#include <cstddef>
#include <cstdint>

namespace polypath::mpi {

enum class Abi { open_mpi, mpich, standard };

/// MPI_Comm, MPI_Datatype, MPI_Op, MPI_Group, …
using Handle = std::uintptr_t;
/// What functions return.
using Result = int;
inline constexpr Result kSuccess = 0;
/// MPI_Count and MPI_Aint, on machines of 64 bits.
using Count = std::int64_t;

}  // namespace polypath::mpi

/// Collective functions that Polypath stands before, and their non-blocking forms, which have a
/// request as one more parameter: X(name, non-blocking name, parameters…).
#define POLYPATH_MPI_COLLECTIVES(X)                                                               \
  X(Allreduce, Iallreduce, const void*, void*, int, Handle, Handle, Handle)                       \
  X(Reduce, Ireduce, const void*, void*, int, Handle, Handle, int, Handle)                        \
  X(Reduce_scatter, Ireduce_scatter, const void*, void*, const int*, Handle, Handle, Handle)      \
  X(Reduce_scatter_block, Ireduce_scatter_block, const void*, void*, int, Handle, Handle, Handle) \
  X(Scan, Iscan, const void*, void*, int, Handle, Handle, Handle)                                 \
  X(Exscan, Iexscan, const void*, void*, int, Handle, Handle, Handle)                             \
  X(Bcast, Ibcast, void*, int, Handle, int, Handle)                                               \
  X(Allgather, Iallgather, const void*, int, Handle, void*, int, Handle, Handle)                  \
  X(Allgatherv, Iallgatherv, const void*, int, Handle, void*, const int*, const int*, Handle,     \
    Handle)                                                                                       \
  X(Gather, Igather, const void*, int, Handle, void*, int, Handle, int, Handle)                   \
  X(Gatherv, Igatherv, const void*, int, Handle, void*, const int*, const int*, Handle, int,      \
    Handle)                                                                                       \
  X(Scatter, Iscatter, const void*, int, Handle, void*, int, Handle, int, Handle)                 \
  X(Scatterv, Iscatterv, const void*, const int*, const int*, Handle, void*, int, Handle, int,    \
    Handle)                                                                                       \
  X(Alltoall, Ialltoall, const void*, int, Handle, void*, int, Handle, Handle)                    \
  X(Alltoallv, Ialltoallv, const void*, const int*, const int*, Handle, void*, const int*,        \
    const int*, Handle, Handle)                                                                   \
  X(Alltoallw, Ialltoallw, const void*, const int*, const int*, const void*, void*, const int*,   \
    const int*, const void*, Handle)

/// The same with counts of 64 bits, which MPI has from version 4 on: with `_c` behind their names.
#define POLYPATH_MPI_LARGE_COLLECTIVES(X)                                                          \
  X(Allreduce, Iallreduce, const void*, void*, Count, Handle, Handle, Handle)                      \
  X(Reduce, Ireduce, const void*, void*, Count, Handle, Handle, int, Handle)                       \
  X(Reduce_scatter, Ireduce_scatter, const void*, void*, const Count*, Handle, Handle, Handle)     \
  X(Reduce_scatter_block, Ireduce_scatter_block, const void*, void*, Count, Handle, Handle,        \
    Handle)                                                                                        \
  X(Scan, Iscan, const void*, void*, Count, Handle, Handle, Handle)                                \
  X(Exscan, Iexscan, const void*, void*, Count, Handle, Handle, Handle)                            \
  X(Bcast, Ibcast, void*, Count, Handle, int, Handle)                                              \
  X(Allgather, Iallgather, const void*, Count, Handle, void*, Count, Handle, Handle)               \
  X(Allgatherv, Iallgatherv, const void*, Count, Handle, void*, const Count*, const Count*,        \
    Handle, Handle)                                                                                \
  X(Gather, Igather, const void*, Count, Handle, void*, Count, Handle, int, Handle)                \
  X(Gatherv, Igatherv, const void*, Count, Handle, void*, const Count*, const Count*, Handle, int, \
    Handle)                                                                                        \
  X(Scatter, Iscatter, const void*, Count, Handle, void*, Count, Handle, int, Handle)              \
  X(Scatterv, Iscatterv, const void*, const Count*, const Count*, Handle, void*, Count, Handle,    \
    int, Handle)                                                                                   \
  X(Alltoall, Ialltoall, const void*, Count, Handle, void*, Count, Handle, Handle)                 \
  X(Alltoallv, Ialltoallv, const void*, const Count*, const Count*, Handle, void*, const Count*,   \
    const Count*, Handle, Handle)                                                                  \
  X(Alltoallw, Ialltoallw, const void*, const Count*, const Count*, const void*, void*,            \
    const Count*, const Count*, const void*, Handle)

/// When the layer begins and ends.
#define POLYPATH_MPI_LIFE(X)               \
  X(Init, int*, char***)                   \
  X(Init_thread, int*, char***, int, int*) \
  X(Finalize)

/// Functions that make communicators: their ranks are told of the layer's then. Others are so at
/// their first blocking call.
#define POLYPATH_MPI_COMMUNICATORS(X)                             \
  X(Comm_dup, Handle, void*)                                      \
  X(Comm_dup_with_info, Handle, Handle, void*)                    \
  X(Comm_split, Handle, int, int, void*)                          \
  X(Comm_split_type, Handle, int, int, Handle, void*)             \
  X(Comm_create, Handle, Handle, void*)                           \
  X(Comm_create_group, Handle, Handle, int, void*)                \
  X(Cart_create, Handle, int, const int*, const int*, int, void*) \
  X(Cart_sub, Handle, const int*, void*)

/// Functions that complete requests: the layer completes its own before them.
#define POLYPATH_MPI_COMPLETIONS(X)          \
  X(Wait, void*, void*)                      \
  X(Test, void*, int*, void*)                \
  X(Waitall, int, void*, void*)              \
  X(Testall, int, void*, int*, void*)        \
  X(Waitany, int, void*, int*, void*)        \
  X(Testany, int, void*, int*, int*, void*)  \
  X(Waitsome, int, void*, int*, int*, void*) \
  X(Testsome, int, void*, int*, int*, void*) \
  X(Request_get_status, Handle, int*, void*)

/// Functions of persistent requests, of which collective functions with `_init` behind their names
/// make some.
#define POLYPATH_MPI_PERSISTENT(X) \
  X(Start, void*)                  \
  X(Startall, int, void*)          \
  X(Request_free, void*)

/// Functions that wait for messages of other ranks: calls of ours that these ranks wait for are
/// begun meanwhile.
#define POLYPATH_MPI_MESSAGES(X)                       \
  X(Send, const void*, int, Handle, int, int, Handle)  \
  X(Ssend, const void*, int, Handle, int, int, Handle) \
  X(Recv, void*, int, Handle, int, int, Handle, void*) \
  X(Probe, int, int, Handle, void*)                    \
  X(Sendrecv, const void*, int, Handle, int, int, void*, int, Handle, int, int, Handle, void*)

/// One-sided functions, and their forms with a request, which have it as one more parameter:
/// X(name, name with a request, parameters…).
#define POLYPATH_MPI_ONE_SIDED(X)                                                               \
  X(Put, Rput, const void*, int, Handle, int, Count, int, Handle, Handle)                       \
  X(Get, Rget, void*, int, Handle, int, Count, int, Handle, Handle)                             \
  X(Accumulate, Raccumulate, const void*, int, Handle, int, Count, int, Handle, Handle, Handle) \
  X(Get_accumulate, Rget_accumulate, const void*, int, Handle, void*, int, Handle, int, Count,  \
    int, Handle, Handle, Handle)

/// The same with counts of 64 bits.
#define POLYPATH_MPI_LARGE_ONE_SIDED(X)                                                            \
  X(Put, Rput, const void*, Count, Handle, int, Count, Count, Handle, Handle)                      \
  X(Get, Rget, void*, Count, Handle, int, Count, Count, Handle, Handle)                            \
  X(Accumulate, Raccumulate, const void*, Count, Handle, int, Count, Count, Handle, Handle,        \
    Handle)                                                                                        \
  X(Get_accumulate, Rget_accumulate, const void*, Count, Handle, void*, Count, Handle, int, Count, \
    Count, Handle, Handle, Handle)

/// One-sided functions of one element.
#define POLYPATH_MPI_ONE_ELEMENT(X)                                       \
  X(Fetch_and_op, const void*, void*, Handle, int, Count, Handle, Handle) \
  X(Compare_and_swap, const void*, const void*, void*, Handle, int, Count, Handle)

/// Functions of windows.
#define POLYPATH_MPI_WINDOWS(X)                               \
  X(Win_create, void*, Count, int, Handle, Handle, void*)     \
  X(Win_create_c, void*, Count, Count, Handle, Handle, void*) \
  X(Win_create_dynamic, Handle, Handle, void*)                \
  X(Win_attach, Handle, void*, Count)                         \
  X(Win_detach, Handle, const void*)                          \
  X(Win_free, void*)                                          \
  X(Win_get_attr, Handle, int, void*, int*)                   \
  X(Win_fence, int, Handle)                                   \
  X(Win_post, Handle, int, Handle)                            \
  X(Win_start, Handle, int, Handle)                           \
  X(Win_complete, Handle)                                     \
  X(Win_wait, Handle)                                         \
  X(Win_test, Handle, int*)                                   \
  X(Win_lock, int, int, int, Handle)                          \
  X(Win_unlock, int, Handle)                                  \
  X(Win_lock_all, int, Handle)                                \
  X(Win_unlock_all, Handle)                                   \
  X(Win_flush, int, Handle)                                   \
  X(Win_flush_all, Handle)                                    \
  X(Win_flush_local, int, Handle)                             \
  X(Win_flush_local_all, Handle)                              \
  X(Win_sync, Handle)

/// Functions that it calls only.
#define POLYPATH_MPI_QUESTIONS(X)                                           \
  X(Comm_rank, Handle, int*)                                                \
  X(Comm_size, Handle, int*)                                                \
  X(Comm_test_inter, Handle, int*)                                          \
  X(Comm_group, Handle, Handle*)                                            \
  X(Comm_free, Handle*)                                                     \
  X(Barrier, Handle)                                                        \
  X(Group_size, Handle, int*)                                               \
  X(Win_allocate, Count, int, Handle, Handle, void*, void*)                 \
  X(Win_call_errhandler, Handle, int)                                       \
  X(Group_free, Handle*)                                                    \
  X(Group_translate_ranks, Handle, int, const int*, Handle, int*)           \
  X(Comm_create_keyval, KeyvalCopy, KeyvalDelete, int*, void*)              \
  X(Comm_set_attr, Handle, int, void*)                                      \
  X(Comm_get_attr, Handle, int, void*, int*)                                \
  X(Comm_call_errhandler, Handle, int)                                      \
  X(Query_thread, int*)                                                     \
  X(Iprobe, int, int, Handle, int*, void*)                                  \
  X(Recv_init, void*, int, Handle, int, int, Handle, void*)                 \
  X(Isend, const void*, int, Handle, int, int, Handle, void*)               \
  X(Issend, const void*, int, Handle, int, int, Handle, void*)              \
  X(Irecv, void*, int, Handle, int, int, Handle, void*)                     \
  X(Grequest_start, RequestQuery, RequestFree, RequestCancel, void*, void*) \
  X(Grequest_complete, Handle)                                              \
  X(Status_set_elements, void*, Handle, int)                                \
  X(Status_set_cancelled, void*, int)                                       \
  X(Type_size, Handle, int*)                                                \
  X(Type_get_extent, Handle, Count*, Count*)                                \
  X(Type_get_true_extent, Handle, Count*, Count*)                           \
  X(Type_get_name, Handle, char*, int*)                                     \
  X(Type_get_envelope, Handle, int*, int*, int*, int*)

namespace polypath::mpi {

/// Of attributes: MPI_Comm_copy_attr_function, MPI_Comm_delete_attr_function.
using KeyvalCopy = Result (*)(Handle, int, void*, void*, void*, int*);
using KeyvalDelete = Result (*)(Handle, int, void*, void*);
/// Of requests that MPI only keeps: MPI_Grequest_query_function and its relatives.
using RequestQuery = Result (*)(void*, void*);
using RequestFree = Result (*)(void*);
using RequestCancel = Result (*)(void*, int);

}  // namespace polypath::mpi
