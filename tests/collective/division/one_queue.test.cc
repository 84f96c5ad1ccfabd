// Streams and the branches of a graph share a few queues of the hardware, with
// CUDA_DEVICE_MAX_CONNECTIONS=1 a single one: an await then holds up all that was made after it. So
// the ranks' parts are done here node by node in the order in which they are made, and all must
// come to their ends.

#include <gmock/gmock.h>

#include <set>

#include "collective/algorithms/algorithm.h"
#include "collective/division/projection.h"
#include "collective/program/routes.h"
#include "collective/rank/rank_memory.h"
#include "collective/support/ranks.h"
#include "machine/load_machine.h"
#include "support/random.h"

namespace polypath::test::one_queue_test {
namespace {

constexpr int kRuns = 2;  // one after another: flags are used again

// All ranks do one node after another, each whenever it can.
class OneByOne {
 public:
  explicit OneByOne(const std::vector<RankPart>& parts) : parts_(parts), next_(parts.size(), 0) {}

  // True if all come to their ends, with no flag set twice.
  bool play() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t rank = 0; rank < parts_.size(); ++rank)
        while (next_[rank] < end_of(rank) && step(rank)) ++next_[rank], moved = true;
    }
    for (std::size_t rank = 0; rank < parts_.size(); ++rank)
      if (next_[rank] != end_of(rank)) return false;
    return !was_set_twice_;
  }

 private:
  [[nodiscard]] std::size_t end_of(std::size_t rank) const {
    return kRuns * parts_[rank].program.nodes().size();
  }
  bool step(std::size_t rank) {
    const auto& nodes = parts_[rank].program.nodes();
    const Node& node = nodes[next_[rank] % nodes.size()];
    const std::pair flag(node.destination.buffer, node.destination.offset.value);
    if (node.operation == Operation::await) return set_.erase(flag) > 0;
    if (node.operation == Operation::signal && !set_.insert(flag).second) was_set_twice_ = true;
    return true;
  }

  const std::vector<RankPart>& parts_;
  std::vector<std::size_t> next_;  // by rank
  std::set<std::pair<int, std::uint64_t>> set_;
  bool was_set_twice_ = false;
};

struct Drawn {
  std::vector<RankPart> parts;
  std::string what;
};

Drawn draw(Random& random, const Machine& machine, EntryAwaits entries) {
  CollectiveRequest request{.collective = random.pick(all_collectives()),
                            .ranks = first_gpus(machine, random.integer(2, 4)),
                            .elements = random.between(1, 1'000'000)};
  request.in_place = random.chance(50);
  std::vector<Algorithm> able;
  for (const Algorithm& each : algorithms())
    if (each.does(machine, request)) able.push_back(each);
  const Algorithm algorithm = random.pick(able);
  const Tuning tuning{.piece = {random.between(65'536, 1'048'576)},
                      .several_paths = random.chance(50),
                      .private_memory = random.chance(20),
                      .in_turn = random.chance(30)};
  Routes routes(machine, collective_settings());
  const Program whole = build(algorithm, machine, request, tuning, &routes);
  return {project(machine, whole, request.ranks, RankMemorySizes{}.flags_per_pair, entries),
          std::string(algorithm.name) + " " + name_of(request.collective)};
}

TEST(OneQueue, LetsAllRanksComeToTheirEnds) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const Machine machine = load_machine(round % 2 == 0 ? "h200x4" : "beluga");
    const bool at_first = random.chance(50);
    const Drawn drawn =
        draw(random, machine, at_first ? EntryAwaits::at_first : EntryAwaits::where_needed);

    EXPECT_TRUE(OneByOne(drawn.parts).play())
        << drawn.what << (at_first ? ", entries at first" : "");
  }
}

}  // namespace
}  // namespace polypath::test::one_queue_test
