#include "collective/choose/copies_at_once.h"

#include <algorithm>

#include "collective/program/mail.h"

namespace polypath::collective {
namespace {

// One engine makes all copies of a GPU to others: they leave by one port.
bool share_a_port(const Machine& machine, std::span<const PlaceId> ranks) {
  const auto hop = machine.find_hop(ranks[0], ranks[1]);
  return hop && std::ranges::any_of(machine.hop(*hop).uses, [&](const Use& use) {
           return machine.resource(use.resource).copies_at_once == 1;
         });
}

bool is_worth_turns(const Machine& machine, const CollectiveRequest& request) {
  constexpr Bytes kSmallestBlock = 4_MiB;
  const Bytes blocks = kSmallestBlock * static_cast<std::uint64_t>(request.size());
  return request.size() > 2 && message_bytes(request) >= blocks &&
         share_a_port(machine, request.ranks);
}

}  // namespace

// Over NVLink, where that was measured, with blocks of 16 to 256 MiB. Those of a few MiB are taken
// to be worth the waits for turns, smaller ones not.
bool take_turns(const Machine& machine, const CollectiveRequest& request) {
  return is_worth_turns(machine, request) && can_mail(machine, request.ranks, {});
}

// GPUs that send to one at the same time have half its port each, and their engines wait.
bool may_gain_by_turns(const Machine& machine, const CollectiveRequest& request) {
  return machine.nodes() == 1 && is_worth_turns(machine, request) &&
         !can_mail(machine, request.ranks, {});
}

// Between two they take 0.95 to 1.26 times as long as predicted, kernels as long
// (results/h100x2/copies_among_ranks.json). Among four that share ports copies in turn take as
// long, beside what each turn costs (results/h100x4/copies_in_turn.json), rings 1.13 to 1.39 times
// (collectives_ring.json), and kernels 1.09 at most from 8 MiB to 1 GiB (collectives_chosen.json).
double least_gain_of_copies(const Machine& machine, std::span<const PlaceId> ranks, bool in_turn) {
  if (ranks.size() <= 2 || !share_a_port(machine, ranks)) return 0.1;
  return in_turn ? 0 : 0.5;
}

// GPUs do not go on to their next receivers at the same moment, and until they all have, two send
// to one. 50 to 67 us for three turns of four GPUs, with blocks of 16 to 256 MiB
// (results/h100x4/copies_in_turn.json). Smaller blocks have not been measured and are taken to need
// half as long again.
Seconds cost_of_turns(const Machine& machine, const CollectiveRequest& request) {
  constexpr Seconds kPerTurn = 20_us;
  const HopId hop = *machine.find_hop(request.ranks[0], request.ranks[1]);
  const Seconds block = message_bytes(request) / machine.hop(hop).bandwidth;
  const Seconds turn = std::min(kPerTurn, block * (0.5 / request.size()));
  return turn * (request.size() - 1);
}

}  // namespace polypath::collective
