#pragma once
// A program's calls of NCCL: for the real library, and as calls of ours.

#include <cstddef>
#include <optional>
#include <vector>

#include "collective/program/call.h"
#include "nccl/functions.h"

namespace polypath::nccl {

enum class Operation {
  all_reduce,
  reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  all_to_all,
  gather,
  scatter,
  send,
  receive
};
inline constexpr int kOperations = 10;
/// "allreduce", as elsewhere.
const char* name_of(Operation operation);

struct Call {
  Operation operation = Operation::all_reduce;
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;  ///< as NCCL has it
  Type type = 0;
  Operator reduction = 0;
  int other = 0;  ///< the root, or of send and receive the peer
  Comm comm = nullptr;
  Stream stream = nullptr;
};

/// The program's own call.
Result make(const Functions& real, const Call& call);

/// The same among `size` ranks, if we have such a call: none of types and operators that we do not
/// have, or for which NCCL has other results. Says nothing that ranks may differ in.
std::optional<CollectiveCall> our_form(const Call& call, int size);

/// Its size as nccl-tests count: of the largest memory that a rank has in it. 0 of a
/// type that is unknown.
Bytes message_of(const Call& call, int size);

}  // namespace polypath::nccl
