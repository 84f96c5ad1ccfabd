#pragma once
// What a member makes calls of ours by, and how the ranks of a communicator make it together.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "collective/rank/collectives.h"
#include "mpi/call_streams.h"
#include "mpi/internode_member.h"
#include "mpi/memory.h"
#include "mpi/scratch.h"
#include "mpi/steps.h"

namespace polypath::mpi {

/// What the ranks of a communicator, or those of one of its nodes, are told by the first of them.
struct Invitation {
  std::int64_t block = -1;   ///< of the arena; negative: there is none
  std::uint64_t number = 0;  ///< of the communicator, never given twice
};

/// Where a rank is.
struct MemberPlace {
  Seat seat;
  Seat in_node;                                          ///< among the ranks of its node
  std::unique_ptr<InternodeMember> internode = nullptr;  ///< null: all ranks are on one node
};

/// What a member has once it can make calls of ours.
struct MemberWork {
  MemberWork(const Surroundings& around, PlaceId place, StreamHandle in,
             std::unique_ptr<Collectives> made);
  MemberWork(const MemberWork&) = delete;
  MemberWork& operator=(const MemberWork&) = delete;
  ~MemberWork();
  [[nodiscard]] EventHandle event();  ///< recorded by the caller

  Driver& driver;
  PlaceId gpu;
  std::unique_ptr<Collectives> ranks;
  StreamHandle stream, before;
  bool owns_stream = false;
  Seconds timeout;
  Scratch scratch;
  std::unordered_map<std::string, PersistentCall> repeated;
  std::mutex mutex;  ///< guards the member below
  std::vector<EventHandle> free_events;
};

/// One that joins.
struct JoiningRank {
  const Library& library;
  const MemberPlace& place;
  CallStreams& streams;
  Invitation invitation;
};

/// All ranks at the same time, on the GPU that has the call's memory; calls MPI where the ranks are
/// on several nodes. Errors: those of Communicator, Collectives and Open.
std::unique_ptr<MemberWork> make_work(const JoiningRank& rank, const Call& call, const Open& open);

}  // namespace polypath::mpi
