#include "collective/choose/played_part.h"

#include <algorithm>
#include <vector>

namespace polypath::collective {
namespace {

// A part of a number, but 0 of 0 only.
std::uint64_t part_of_number(std::uint64_t number, double part) {
  const auto less = static_cast<std::uint64_t>(static_cast<double>(number) * part);
  return number == 0 ? 0 : std::max<std::uint64_t>(less, 1);
}

}  // namespace

double times_of(const CollectiveRequest& request, const CollectiveRequest& part) {
  return message_bytes(request).real() / message_bytes(part).real();
}

Bytes round_of(const CollectiveRequest& request, const Tuning& tuning) {
  return tuning.piece * static_cast<std::uint64_t>(request.size());
}

// Of all_to_all_v blocks may be many times a few elements: then each has fewer of them.
CollectiveRequest of_rounds(const CollectiveRequest& request, const Tuning& tuning,
                            std::uint64_t rounds) {
  constexpr std::uint64_t kMany = 1 << 20;
  const double part = (round_of(request, tuning) * rounds).real() / message_bytes(request).real();
  CollectiveRequest smaller = request;
  if (request.counts.empty() || request.elements >= kMany)
    smaller.elements = part_of_number(request.elements, part);
  else
    for (std::uint64_t& count : smaller.counts) count = part_of_number(count, part);
  return smaller;
}

CollectiveRequest of_one_round(const CollectiveRequest& request, const Tuning& tuning) {
  return round_of(request, tuning) * 2 < message_bytes(request) ? of_rounds(request, tuning, 1)
                                                                : request;
}

Bytes most_over_a_hop(const Program& program) {
  std::vector<Bytes> over;
  Bytes most;
  for (const Node& node : program.nodes()) {
    if (node.operation != Operation::copy || !node.hop.valid()) continue;
    if (over.size() <= node.hop.index()) over.resize(node.hop.index() + 1);
    most = std::max(most, over[node.hop.index()] += node.bytes);
  }
  return most;
}

}  // namespace polypath::collective
