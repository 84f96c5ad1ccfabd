#pragma once
// NCCL and Polypath side by side, once a communicator is made: whose calls of a size are faster.

#include "nccl/choices.h"
#include "nccl/member.h"

namespace polypath::nccl {

/// Times calls of some sizes, of `most` bytes at most, by the real library on `comm` and by
/// `member`, in a stream of its own and in memory of its own, which it gives back. All ranks make
/// it at the same time, and get the same choices: those of rank 0's times. Sizes for which any rank
/// has no memory are left out. Errors: those of the driver and of the exchange; internal if the
/// real library fails.
Choices measure(const Functions& real, Comm comm, Member& member, Bytes most);

}  // namespace polypath::nccl
