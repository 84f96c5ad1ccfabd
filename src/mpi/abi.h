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

/// Collective functions that Polypath stands before: X(name, parameters…).
#define POLYPATH_MPI_COLLECTIVES(X)                                                                \
  X(Allreduce, const void*, void*, int, Handle, Handle, Handle)                                    \
  X(Reduce, const void*, void*, int, Handle, Handle, int, Handle)                                  \
  X(Reduce_scatter, const void*, void*, const int*, Handle, Handle, Handle)                        \
  X(Reduce_scatter_block, const void*, void*, int, Handle, Handle, Handle)                         \
  X(Scan, const void*, void*, int, Handle, Handle, Handle)                                         \
  X(Exscan, const void*, void*, int, Handle, Handle, Handle)                                       \
  X(Bcast, void*, int, Handle, int, Handle)                                                        \
  X(Allgather, const void*, int, Handle, void*, int, Handle, Handle)                               \
  X(Allgatherv, const void*, int, Handle, void*, const int*, const int*, Handle, Handle)           \
  X(Gather, const void*, int, Handle, void*, int, Handle, int, Handle)                             \
  X(Gatherv, const void*, int, Handle, void*, const int*, const int*, Handle, int, Handle)         \
  X(Scatter, const void*, int, Handle, void*, int, Handle, int, Handle)                            \
  X(Scatterv, const void*, const int*, const int*, Handle, void*, int, Handle, int, Handle)        \
  X(Alltoall, const void*, int, Handle, void*, int, Handle, Handle)                                \
  X(Alltoallv, const void*, const int*, const int*, Handle, void*, const int*, const int*, Handle, \
    Handle)                                                                                        \
  X(Alltoallw, const void*, const int*, const int*, const void*, void*, const int*, const int*,    \
    const void*, Handle)

/// The same with counts of 64 bits, which MPI has from version 4 on.
#define POLYPATH_MPI_LARGE_COLLECTIVES(X)                                                          \
  X(Allreduce_c, const void*, void*, Count, Handle, Handle, Handle)                                \
  X(Reduce_c, const void*, void*, Count, Handle, Handle, int, Handle)                              \
  X(Reduce_scatter_c, const void*, void*, const Count*, Handle, Handle, Handle)                    \
  X(Reduce_scatter_block_c, const void*, void*, Count, Handle, Handle, Handle)                     \
  X(Scan_c, const void*, void*, Count, Handle, Handle, Handle)                                     \
  X(Exscan_c, const void*, void*, Count, Handle, Handle, Handle)                                   \
  X(Bcast_c, void*, Count, Handle, int, Handle)                                                    \
  X(Allgather_c, const void*, Count, Handle, void*, Count, Handle, Handle)                         \
  X(Allgatherv_c, const void*, Count, Handle, void*, const Count*, const Count*, Handle, Handle)   \
  X(Gather_c, const void*, Count, Handle, void*, Count, Handle, int, Handle)                       \
  X(Gatherv_c, const void*, Count, Handle, void*, const Count*, const Count*, Handle, int, Handle) \
  X(Scatter_c, const void*, Count, Handle, void*, Count, Handle, int, Handle)                      \
  X(Scatterv_c, const void*, const Count*, const Count*, Handle, void*, Count, Handle, int,        \
    Handle)                                                                                        \
  X(Alltoall_c, const void*, Count, Handle, void*, Count, Handle, Handle)                          \
  X(Alltoallv_c, const void*, const Count*, const Count*, Handle, void*, const Count*,             \
    const Count*, Handle, Handle)                                                                  \
  X(Alltoallw_c, const void*, const Count*, const Count*, const void*, void*, const Count*,        \
    const Count*, const void*, Handle)

/// When the layer begins and ends.
#define POLYPATH_MPI_LIFE(X)               \
  X(Init, int*, char***)                   \
  X(Init_thread, int*, char***, int, int*) \
  X(Finalize)

/// Functions that it calls only.
#define POLYPATH_MPI_QUESTIONS(X)                                 \
  X(Comm_rank, Handle, int*)                                      \
  X(Comm_size, Handle, int*)                                      \
  X(Comm_test_inter, Handle, int*)                                \
  X(Comm_group, Handle, Handle*)                                  \
  X(Group_free, Handle*)                                          \
  X(Group_translate_ranks, Handle, int, const int*, Handle, int*) \
  X(Comm_create_keyval, KeyvalCopy, KeyvalDelete, int*, void*)    \
  X(Comm_set_attr, Handle, int, void*)                            \
  X(Comm_get_attr, Handle, int, void*, int*)                      \
  X(Comm_call_errhandler, Handle, int)                            \
  X(Iprobe, int, int, Handle, int*, void*)                        \
  X(Type_size, Handle, int*)                                      \
  X(Type_get_extent, Handle, Count*, Count*)                      \
  X(Type_get_true_extent, Handle, Count*, Count*)                 \
  X(Type_get_name, Handle, char*, int*)                           \
  X(Type_get_envelope, Handle, int*, int*, int*, int*)

namespace polypath::mpi {

/// Of attributes: MPI_Comm_copy_attr_function, MPI_Comm_delete_attr_function.
using KeyvalCopy = Result (*)(Handle, int, void*, void*, void*, int*);
using KeyvalDelete = Result (*)(Handle, int, void*, void*);

}  // namespace polypath::mpi
