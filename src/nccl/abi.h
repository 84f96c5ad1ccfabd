#pragma once
// NCCL's binary interface, as far as it is needed here: as nccl.h of 2.32.3 has it.

#include <array>
#include <cstddef>

namespace polypath::nccl {

/// ncclComm_t: the program's, always the real library's.
struct RealCommunicator;
using Comm = RealCommunicator*;
/// cudaStream_t.
using Stream = void*;

struct UniqueId {
  std::array<char, 128> internal;
};

/// ncclResult_t.
using Result = int;
inline constexpr Result kSuccess = 0, kUnhandledCudaError = 1, kSystemError = 2, kInternalError = 3,
                        kInvalidArgument = 4, kInvalidUsage = 5, kRemoteError = 6, kInProgress = 7;

/// The begin of ncclConfig_t.
struct ConfigHead {
  std::size_t size;
  unsigned magic, version;
  int blocking;
};

/// ncclDataType_t and ncclRedOp_t, as numbers.
using Type = int;
using Operator = int;
inline constexpr Type kUint8 = 1, kFloat32 = 7, kBfloat16 = 9;
inline constexpr Operator kSum = 0;

}  // namespace polypath::nccl

/// Functions that Polypath stands before: X(name, parameters…).
#define POLYPATH_NCCL_COLLECTIVES(X)                                              \
  X(AllReduce, const void*, void*, std::size_t, Type, Operator, Comm, Stream)     \
  X(Reduce, const void*, void*, std::size_t, Type, Operator, int, Comm, Stream)   \
  X(ReduceScatter, const void*, void*, std::size_t, Type, Operator, Comm, Stream) \
  X(AllGather, const void*, void*, std::size_t, Type, Comm, Stream)               \
  X(Broadcast, const void*, void*, std::size_t, Type, int, Comm, Stream)          \
  X(Bcast, void*, std::size_t, Type, int, Comm, Stream)                           \
  X(AlltoAll, const void*, void*, std::size_t, Type, Comm, Stream)                \
  X(Gather, const void*, void*, std::size_t, Type, int, Comm, Stream)             \
  X(Scatter, const void*, void*, std::size_t, Type, int, Comm, Stream)            \
  X(Send, const void*, std::size_t, Type, int, Comm, Stream)                      \
  X(Recv, void*, std::size_t, Type, int, Comm, Stream)
#define POLYPATH_NCCL_COMMUNICATORS(X)                            \
  X(GetUniqueId, UniqueId*)                                       \
  X(CommInitRank, Comm*, int, UniqueId, int)                      \
  X(CommInitRankConfig, Comm*, int, UniqueId, int, void*)         \
  X(CommInitRankScalable, Comm*, int, int, int, UniqueId*, void*) \
  X(CommInitAll, Comm*, int, const int*)                          \
  X(CommSplit, Comm, int, int, Comm*, void*)                      \
  X(CommDestroy, Comm)                                            \
  X(CommAbort, Comm)                                              \
  X(CommRevoke, Comm, int)                                        \
  X(CommGetAsyncError, Comm, Result*)                             \
  X(GroupSimulateEnd, void*)                                      \
  X(GroupStart)                                                   \
  X(GroupEnd)
/// Functions that it calls only.
#define POLYPATH_NCCL_QUESTIONS(X)               \
  X(CommCount, const RealCommunicator*, int*)    \
  X(CommUserRank, const RealCommunicator*, int*) \
  X(CommCuDevice, const RealCommunicator*, int*) \
  X(GetVersion, int*)
