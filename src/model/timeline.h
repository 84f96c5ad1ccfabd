#pragma once
// Programs on a timeline: when each node runs, played copy by copy (fluid.h), with the waits of the
// executors. Programs of several ranks go onto one timeline: the n-th that awaits a flag comes
// after the n-th that signals it, and kernels that meet end when the last of them does.

#include <map>
#include <memory_resource>
#include <tuple>
#include <vector>

#include "model/fluid.h"
#include "model/issue.h"
#include "model/program.h"

namespace polypath::model {

class Timeline {
 public:
  Timeline(const Machine& machine, const HopRates& rates)
      : machine_(machine), fluid_(machine, rates) {}
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  /// Puts a program's nodes onto it, the call being made at `start`. Returns them in order; they
  /// have their times after play(). The caller drops them before the timeline is destroyed.
  std::vector<ActivityPointer> add(const Program& program, const IssueTimes& issue, Seconds start);
  /// Plays all that has been added. A flag that nothing on the timeline signals is set already.
  void play();

 private:
  /// The users of one flag, in order.
  struct FlagUses {
    std::vector<ActivityPointer> signals, awaits;
  };
  /// A buffer of the programs, all of which number their flags alike, and where in it.
  using FlagPlace = std::tuple<PlaceId, int, Bytes>;

  /// Kernels that meet: their first parts, and their second ones, which take no time.
  struct Met {
    std::vector<ActivityPointer> first, second;
  };

  ActivityPointer make_activity();
  ActivityPointer activity_of(const Program& program, const Node& node);
  ActivityPointer submit(const Program& program, const Node& node, const ActivityPointer& activity);
  ActivityPointer meet(const KernelCall& call, const ActivityPointer& first);

  const Machine& machine_;
  std::pmr::monotonic_buffer_resource memory_;  ///< of all activities
  Fluid fluid_;
  std::map<FlagPlace, FlagUses> flags_;
  std::map<int, Met> meetings_;  ///< by number
};

}  // namespace polypath::model
