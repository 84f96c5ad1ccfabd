#pragma once
// Runs of a rank's part of a call: in memory that all ranks have registered where that is so, else
// through scratch memory or mailboxes.

#include <cstdint>
#include <optional>
#include <vector>

#include "collective/rank/call_programs.h"
#include "collective/rank/peer_registration.h"
#include "collective/rank/rank_run.h"

namespace polypath::collective {

class PartRuns {
 public:
  /// All of these outlive it.
  PartRuns(RankRun& run, PeerRegistration& open, const KnownPrograms& programs, int rank, int ranks)
      : run_(run), open_(open), programs_(programs), rank_(rank), ranks_(ranks) {}

  /// `own` has this rank's memory. Returns the number of the run.
  std::uint64_t run(const CallPrograms& made, const std::vector<Address>& own, StreamHandle stream,
                    bool captured);
  /// How many were in registered memory.
  [[nodiscard]] std::uint64_t open_calls() const { return open_calls_; }

 private:
  /// All ranks' memories, if they are registered.
  [[nodiscard]] std::optional<std::vector<Address>> open_buffers(const CallPrograms& made,
                                                                 std::vector<Address> own,
                                                                 bool captured);

  RankRun& run_;
  PeerRegistration& open_;
  const KnownPrograms& programs_;
  int rank_, ranks_;
  std::uint64_t open_calls_ = 0;
};

}  // namespace polypath::collective
