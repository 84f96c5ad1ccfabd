#pragma once
// The copies of a benchmark: lanes, each a pair of places with buffers and a stream of its own.

#include <string>
#include <vector>

#include "machine/machine.h"

namespace polypath::bench {

struct Lane {
  PlaceId source;
  PlaceId destination;
};

/// One operation on one machine.
struct Operation {
  std::string name;
  std::vector<Lane> lanes;
  /// The lanes take turns, each waiting for the one before (latency), instead of running together.
  bool in_turn = false;
  /// Host memory is what malloc gives, instead of pinned.
  bool pageable = false;
  /// One thread and one engine ask for the copies of all lanes at once, instead of each lane for
  /// itself.
  bool together = false;
  /// Copies that each lane makes of a buffer's blocks, each of the size that is measured.
  std::size_t pieces = 1;
};

/// True if each lane is a thread's that calls at the same time as the others'.
[[nodiscard]] inline bool by_threads(const Operation& operation) {
  return operation.lanes.size() > 1 && !operation.in_turn && !operation.together;
}

/// Names of all operations, in the order of the documentation.
const std::vector<std::string>& operation_names();

/// Lanes of `name` between the two places:
///   put, h2d, d2h  one copy per measurement, one lane
///   bw             the same as put, with a window
///   bibw           one lane each way
///   mbw            lanes 0->1, 2->3, ... of all GPUs
///   latency        there and back, in turn; half the time counts
///   pageable       h2d or d2h with memory that is not pinned; real GPUs only
///   ring, pairs, fan-out, gather, alltoall, scatter, collect
///                  the pattern of that name (plan/joint/patterns.h) over all GPUs, asked for
///                  together
///   many           blocks of one buffer to blocks of another, between a GPU and any place, asked
///                  for together on one stream; how many, is for the caller to say (pieces)
/// Errors (invalid_argument): unknown operation; places of the wrong kind for it.
Operation find_operation(const Machine& machine, const std::string& name, PlaceId source,
                         PlaceId destination);

/// Instead of the names of both places: each that the operation can run between.
inline constexpr const char* kAllPairs = "all";

/// put, bw, bibw, latency, h2d or d2h between all ordered pairs of places that it can run between,
/// by source and then by destination. Errors (invalid_argument): another operation; no such pair.
std::vector<Operation> operations_of_all_pairs(const Machine& machine, const std::string& name);

/// The driver's calls that the native copies of these operations are, each once, and the property
/// that decides between them: "cuMemcpyHtoDAsync, malloc memory".
std::string native_calls(const Machine& machine, const std::vector<Operation>& operations);

/// Error (invalid_argument) if they are one place: no copy leads from a place to itself.
void check_different(const Machine& machine, PlaceId source, PlaceId destination);

/// Error (invalid_argument) for no bytes, and for more than 64 GiB: buffers of all sizes are real.
void check_measurable(Bytes bytes);

}  // namespace polypath::bench
