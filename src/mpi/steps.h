#pragma once
// A call of MPI as what one rank does for it: copies within its GPU before, calls of ours, copies
// after.
//
//   MPI's call                 calls of ours
//   reductions, broadcast,     the same
//   allgather, alltoall
//   gather, scatter            all-to-all with counts: only the root's are not 0
//   allgatherv                 one broadcast for each rank
//   gatherv, scatterv,         all-to-all with counts, which the ranks exchange; parts that do not
//   lie side by side alltoallv                  are packed before and unpacked after reduce_scatter
//   that of equal parts; of unequal ones an all-reduce, of which each keeps its part

#include <functional>
#include <vector>

#include "collective/program/call.h"
#include "mpi/call.h"
#include "mpi/scratch.h"

namespace polypath::mpi {

/// Within this rank's GPU.
struct LocalCopy {
  Address from, to;
  Bytes bytes;
};

struct Steps {
  std::vector<LocalCopy> before;
  std::vector<CollectiveCall> calls;
  std::vector<LocalCopy> after;
};

/// One rank of a communicator, in its words.
struct Seat {
  int rank = 0, size = 1;
};

/// True if we have such a call, of these types and with this reduction. Ranks whose calls match may
/// still differ in it, by the types that they pass.
bool is_ours(const Library& library, const Call& call);

/// What a rank has to tell all others of a call before it can make its steps: nothing of most
/// calls, else its counts, as many at each rank.
std::vector<Count> counts_to_tell(const Library& library, const Call& call, const Seat& seat);

/// As many numbers of each rank as this one gives, those of rank 0 first. Waits for all ranks.
using Exchange = std::function<std::vector<Count>(const std::vector<Count>& mine)>;

/// For a call that is_ours() at all ranks. Memory that has no place in the program's is taken from
/// `scratch`.
Steps steps_of(const Library& library, const Call& call, const Seat& seat, Scratch& scratch,
               const Exchange& exchange);

}  // namespace polypath::mpi
