#pragma once
// How the messages of a program go: directly or by way of hosts, at once or in turn, in one phase
// or in two.

#include <compare>
#include <vector>

#include "collective/algorithms/algorithm.h"

namespace polypath::collective {

/// Of a tuning: how messages go.
struct SendMode {
  bool by_hosts = false, in_phases = false, in_turn = false;

  auto operator<=>(const SendMode&) const = default;
};

SendMode mode_of(const Tuning& tuning);
void set_mode(Tuning& tuning, const SendMode& mode);
/// Those that are worth a try, the usual one first.
std::vector<SendMode> modes_of(const Machine& machine, const Algorithm& algorithm,
                               const CollectiveRequest& request);

}  // namespace polypath::collective
