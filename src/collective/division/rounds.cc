#include "collective/division/rounds.h"

#include <algorithm>

namespace polypath::collective {
namespace {

// Rounds begin where memory of any type is aligned as at the call's begin.
constexpr std::uint64_t kGrain = 4096;

std::uint64_t rounds_in(const CollectiveRequest& request, Bytes most) {
  return (message_bytes(request).value + most.value - 1) / most.value;
}

Address moved(Address address, Bytes by) { return address.value == 0 ? address : address + by; }

std::vector<CollectiveCall> rounds_of_parts(const CollectiveCall& call, std::uint64_t rounds) {
  const std::uint64_t even = (call.elements + rounds - 1) / rounds;
  const std::uint64_t most = (even + kGrain - 1) / kGrain * kGrain;
  std::vector<CollectiveCall> all;
  for (std::uint64_t first = 0; first < call.elements; first += most) {
    CollectiveCall round = call;
    const Bytes before = bytes_of(call.reduction.type) * first;
    round.elements = std::min(most, call.elements - first), round.pitch = call.elements;
    round.input = moved(call.input, before), round.output = moved(call.output, before);
    all.push_back(std::move(round));
  }
  return all;
}

// Part `number` of `count` of every block.
CollectiveCall round_of_blocks(const CollectiveCall& call, const CollectiveRequest& request,
                               int number, int count) {
  const Bytes element = request.element();
  CollectiveCall round = call;
  round.elements = 1, round.pitch = 1;
  round.counts.clear();
  for (int from = 0; from < request.size(); ++from)
    for (int to = 0; to < request.size(); ++to) {
      const Part sent = part_of(block_sent(request, from, to), number, count, element);
      const Part received = part_of(block_received(request, from, to), number, count, element);
      round.counts.push_back(sent.bytes.value / element.value);
      round.sent_at.push_back(sent.offset.value / element.value);
      round.received_at.push_back(received.offset.value / element.value);
    }
  return round;
}

}  // namespace

std::vector<CollectiveCall> rounds_of(const CollectiveCall& call, const CollectiveRequest& request,
                                      Bytes most) {
  const std::uint64_t rounds = rounds_in(request, most);
  if (call.pitch > 0 || rounds < 2) return {call};
  if (call.collective != Collective::all_to_all_v) return rounds_of_parts(call, rounds);
  std::vector<CollectiveCall> all;
  for (std::uint64_t round = 0; round < rounds; ++round)
    all.push_back(
        round_of_blocks(call, request, static_cast<int>(round), static_cast<int>(rounds)));
  return all;
}

}  // namespace polypath::collective
