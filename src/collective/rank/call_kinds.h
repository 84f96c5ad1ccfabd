#pragma once
// What a call is for one of its ranks: the part that it shares with other calls, its rounds, and
// the memory that it uses.

#include <vector>

#include "collective/program/call.h"
#include "collective/program/request.h"
#include "collective/rank/call_programs.h"
#include "driver/driver.h"

namespace polypath::collective {

class CallKinds {
 public:
  /// `programs` outlives this.
  CallKinds(const KnownPrograms& programs, int rank, int ranks)
      : programs_(programs), rank_(rank), ranks_(ranks) {}

  /// The common part of all calls of one program: their request, without the ranks.
  [[nodiscard]] CollectiveRequest of(const CollectiveCall& call) const;
  /// The calls that make it up, one after another.
  [[nodiscard]] std::vector<CollectiveCall> rounds(const CollectiveCall& call,
                                                   const CollectiveRequest& kind) const;
  /// As NodeCollectives::stays_at_home.
  [[nodiscard]] bool stays_at_home(const CollectiveCall& call) const;
  /// The ranks' inputs and then their outputs, or their one memory each; of others nothing is
  /// known.
  [[nodiscard]] std::vector<Address> buffers_of(const CollectiveCall& call,
                                                const CollectiveRequest& kind) const;

 private:
  [[nodiscard]] bool is_in_place(const CollectiveCall& call) const;
  [[nodiscard]] bool is_in_place_at_all(const CollectiveCall& call) const;

  const KnownPrograms& programs_;
  int rank_, ranks_;
};

}  // namespace polypath::collective
