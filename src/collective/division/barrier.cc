#include "collective/division/barrier.h"

#include <fmt/format.h>

#include "core/error.h"

namespace polypath::collective {
namespace {

constexpr int kWords = 2;

RankPart part_of_rank(const Machine& machine, const std::vector<PlaceId>& ranks, int rank,
                      int per_pair) {
  RankPart part;
  const int count = static_cast<int>(ranks.size());
  for (int each = 0; each < count; ++each)
    part.program.add(ProgramBuffer{flags_place(machine, ranks, each)});
  const int own = part.program.add(ProgramBuffer{ranks[static_cast<std::size_t>(rank)]});
  const auto add = [&](Operation operation, int producer, int consumer, int word) {
    part.program.add(flag_node(operation, Program::kCallersQueue,
                               {consumer, flag_offset(producer, word, per_pair)}, own));
  };
  for (int word = 0; word < kWords; ++word) {
    for (int distance = 1; distance < count; ++distance)
      add(Operation::signal, rank, (rank + distance) % count, word);
    for (int distance = 1; distance < count; ++distance)
      add(Operation::await, (rank + distance) % count, rank, word);
  }
  part.program.assign_events();
  part.flags_per_pair = kWords;
  return part;
}

}  // namespace

std::vector<RankPart> barrier_parts(const Machine& machine, const std::vector<PlaceId>& ranks,
                                    int per_pair) {
  if (per_pair < kWords)
    fail(ErrorCode::unsupported, "ranks cannot meet in a barrier",
         fmt::format("it needs {} flags between two of them, and {} are kept", kWords, per_pair),
         "Keep more.");
  std::vector<RankPart> parts;
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank)
    parts.push_back(part_of_rank(machine, ranks, rank, per_pair));
  return parts;
}

}  // namespace polypath::collective
