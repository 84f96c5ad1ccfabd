#pragma once
// A transfer as the model knows it: paths with the chunks that they carry; and its program.

#include <vector>

#include "model/path.h"
#include "model/program.h"

namespace polypath::model {

/// How a plan runs.
enum class Executor { native, stream, graph };

const char* name_of(Executor executor);

/// A path with the chunks it carries, in order; one chunk for the direct path.
struct PathShape {
  Path path;
  std::vector<Bytes> chunks;
  int taper = 0;  ///< so many of them are the smaller ones of a series (chunks.h)
  [[nodiscard]] Bytes bytes() const;
};

/// One transfer: its paths in the order in which their copies are issued.
struct TransferShape {
  Executor executor = Executor::native;
  std::vector<PathShape> paths;
  Bytes total() const;
};

/// Numbers of a transfer's two buffers.
constexpr int kSourceBuffer = 0, kDestinationBuffer = 1;

/// The program of a transfer: the direct copy in the caller's queue, each hop of a staged path in a
/// queue of its own. Copies are issued chunk by chunk, the first ones of all paths and then their
/// second ones, so that every path starts as early as it can. Chunk j goes through slot j mod
/// `slots` of its path's ring, once the second copy of chunk j - slots has emptied it. Ranges of
/// bytes are handed out path by path in the order of `shape`, so that each path's is contiguous.
/// Events are not assigned.
Program program_of(const Machine& machine, const TransferShape& shape, int slots);

}  // namespace polypath::model
