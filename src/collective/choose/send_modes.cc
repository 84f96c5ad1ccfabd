#include "collective/choose/send_modes.h"

#include "collective/choose/copies_at_once.h"
#include "collective/trees/link_times.h"

namespace polypath::collective {

SendMode mode_of(const Tuning& tuning) {
  return {tuning.by_hosts, tuning.in_phases, tuning.in_turn};
}

void set_mode(Tuning& tuning, const SendMode& mode) {
  tuning.by_hosts = mode.by_hosts, tuning.in_phases = mode.in_phases, tuning.in_turn = mode.in_turn;
}

std::vector<SendMode> modes_of(const Machine& machine, const Algorithm& algorithm,
                               const CollectiveRequest& request) {
  const bool turns = take_turns(machine, request);
  std::vector<SendMode> modes = {{.in_turn = algorithm.in_turn && turns}};
  if (algorithm.may_take_turns && may_gain_by_turns(machine, request))
    modes.push_back({.in_turn = true});
  if (!algorithm.may_go_by_hosts || !has_ways_by_hosts(machine, request.ranks)) return modes;
  modes.push_back({.by_hosts = true});
  if (algorithm.has_phases && request.collective == Collective::all_reduce)
    modes.push_back({.by_hosts = true, .in_phases = true});
  return modes;
}

}  // namespace polypath::collective
