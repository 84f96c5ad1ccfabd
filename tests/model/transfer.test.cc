// The program of a transfer: every byte once, slots only reused when free, and nothing waits for
// what comes later.

#include "model/transfer.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "model/coverage.h"
#include "model/fan.h"
#include "support/layers.h"

namespace polypath::test::transfer_test {
namespace {

Program program_with(std::vector<PathShape> paths, int slots = 4) {
  return program_of(fan_machine(), {Executor::stream, std::move(paths)}, slots);
}

std::vector<int> after(const Program& program, const Node& node) {
  const auto named = program.after(node);
  return {named.begin(), named.end()};
}

/// The ring's slot that a node fills or empties; -1 for a direct copy.
int slot_of(const Program& program, const Node& node) {
  return std::max(program.buffer(node.source).slot, program.buffer(node.destination).slot);
}

bool fills(const Program& program, const Node& node) {
  return program.buffer(node.destination).is_scratch();
}

TEST(TransferProgram, OfADirectPathIsOneCopyInTheCallersQueue) {
  const Program program = program_with({carrying(0, {1000})});

  ASSERT_EQ(program.nodes().size(), 1U);
  const Node& node = program.nodes()[0];
  EXPECT_EQ(node.operation, Operation::copy);
  EXPECT_EQ(node.hop, fan_path(0).first);
  EXPECT_EQ(node.queue, Program::kCallersQueue);
  EXPECT_EQ(node.source.buffer, kSourceBuffer);
  EXPECT_EQ(node.destination.buffer, kDestinationBuffer);
  EXPECT_EQ(node.source.offset, 0_B);
  EXPECT_EQ(node.bytes, 1000_B);
  EXPECT_EQ(node.edges, 0U);
  EXPECT_FALSE(node.awaited);
}

TEST(TransferProgram, OfNoPathHasNoNodes) { EXPECT_TRUE(program_with({}).nodes().empty()); }

TEST(TransferProgram, HasTheTransfersEndsAsItsFirstBuffers) {
  const Program program = program_with({carrying(1, {10}), carrying(0, {10})});

  EXPECT_EQ(program.buffers()[kSourceBuffer].place, PlaceId{0});
  EXPECT_EQ(program.buffers()[kDestinationBuffer].place, PlaceId{1});
  EXPECT_EQ(program.buffers()[2].place, PlaceId{2});
  EXPECT_TRUE(program.buffers()[2].is_scratch());
}

// Issue order by hand, chunk by chunk: the first copies of all paths, then their second ones.
//   round 0: direct | path 1 first | path 2 first | path 1 second | path 2 second
//   round 1: path 1 first | path 1 second
TEST(TransferProgram, IssuesChunkByChunkFirstCopiesFirst) {
  const Program program =
      program_with({carrying(0, {500}), carrying(1, {300, 200}), carrying(2, {100})});

  std::vector<std::pair<int, std::uint64_t>> issued;
  std::map<std::pair<int, int>, std::uint64_t> offsets;  // of a path's chunk in the message
  for (const Node& node : program.nodes()) {
    if (node.source.buffer == kSourceBuffer)
      offsets[{node.path, node.chunk}] = node.source.offset.value;
    issued.emplace_back(node.hop.value, offsets[{node.path, node.chunk}]);
  }
  EXPECT_EQ(issued, (std::vector<std::pair<int, std::uint64_t>>{
                        {0, 0}, {1, 500}, {3, 1000}, {2, 500}, {4, 1000}, {1, 800}, {2, 800}}));
}

// A ring of two slots and four chunks; nodes alternate first and second copy:
//   chunk       0     1     2     3
//   nodes     0, 1  2, 3  4, 5  6, 7
//   slot        0     1     0     1
// Chunk 2 waits for node 1, chunk 3 for node 3; each second copy waits for its first.
TEST(TransferProgram, WaitsForTheSlotsFormerChunk) {
  const Program program = program_with({carrying(1, {10, 10, 10, 10})}, 2);

  std::vector<std::vector<int>> waits;
  std::vector<int> slots;
  std::vector<bool> awaited;
  for (const Node& node : program.nodes()) {
    waits.push_back(after(program, node));
    slots.push_back(slot_of(program, node));
    awaited.push_back(node.awaited);
  }
  EXPECT_EQ(waits, (std::vector<std::vector<int>>{{}, {0}, {}, {2}, {1}, {4}, {3}, {6}}));
  EXPECT_EQ(slots, (std::vector<int>{0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(awaited, (std::vector<bool>{true, true, true, true, true, false, true, false}));
}

TEST(TransferProgram, BringsEveryByteOnce) {
  for_random_shapes([](const TransferShape& shape, int, const Program& program) {
    EXPECT_TRUE(covers_once(program, shape.total()));
    EXPECT_TRUE(reads_once(program, shape.total()));
  });
}

TEST(TransferProgram, KeepsEachPathsRangeContiguous) {
  for_random_shapes([](const TransferShape& shape, int, const Program& program) {
    Bytes begin;
    for (std::size_t p = 0; p < shape.paths.size(); ++p) {
      Bytes end = begin;
      for (const Node& node : program.nodes())
        if (node.path == static_cast<int>(p) && node.destination.buffer == kDestinationBuffer) {
          EXPECT_EQ(node.destination.offset, end);
          EXPECT_EQ(node.bytes, shape.paths[p].chunks[static_cast<std::size_t>(node.chunk)]);
          end += node.bytes;
        }
      begin = end;
    }
  });
}

TEST(TransferProgram, UsesOnlySlotsOfTheRing) {
  for_random_shapes([](const TransferShape& shape, int slots, const Program& program) {
    for (const Node& node : program.nodes()) {
      const bool staged = shape.paths[static_cast<std::size_t>(node.path)].path.staged();
      EXPECT_EQ(slot_of(program, node) >= 0, staged);
      EXPECT_LT(slot_of(program, node), slots);
    }
  });
}

TEST(TransferProgram, HasAQueuePerHopOfAStagedPath) {
  for_random_shapes([](const TransferShape& shape, int, const Program& program) {
    for (const Node& node : program.nodes()) {
      const bool staged = shape.paths[static_cast<std::size_t>(node.path)].path.staged();
      const Queue& queue = program.queues()[static_cast<std::size_t>(node.queue)];
      EXPECT_EQ(node.queue == Program::kCallersQueue, !staged);
      EXPECT_EQ(queue.hop, staged ? node.hop : HopId{});
    }
  });
}

TEST(TransferProgram, WaitsOnlyForWhatCameBefore) {
  for_random_shapes([](const TransferShape&, int, const Program& program) {
    for (std::size_t n = 0; n < program.nodes().size(); ++n)
      for (const int earlier : program.after(program.nodes()[n])) {
        EXPECT_GE(earlier, 0);
        EXPECT_LT(earlier, static_cast<int>(n));
      }
  });
}

TEST(TransferProgram, AwaitsExactlyWhatALaterNodeWaitsFor) {
  for_random_shapes([](const TransferShape&, int, const Program& program) {
    std::set<int> waited_for;
    for (const Node& node : program.nodes())
      for (const int earlier : program.after(node)) waited_for.insert(earlier);

    for (std::size_t n = 0; n < program.nodes().size(); ++n)
      EXPECT_EQ(program.nodes()[n].awaited, waited_for.contains(static_cast<int>(n))) << n;
  });
}

/// The node that used each slot of each ring last, as the nodes are issued.
class SlotUse {
 public:
  explicit SlotUse(const Program& program) : program_(program) {}

  void issue(int number) {
    const Node& node = program_.node(number);
    if (slot_of(program_, node) < 0) return;
    if (fills(program_, node)) fill(number, node);
    else drain(number, node);
  }

 private:
  [[nodiscard]] std::pair<int, int> slot(const Node& node) const {
    return {node.path, slot_of(program_, node)};
  }

  // The slot's former chunk must have left it.
  void fill(int number, const Node& node) {
    const auto former = drained_.find(slot(node));
    if (former == drained_.end())
      EXPECT_EQ(node.edges, 0U) << "node " << number << " waits for a slot never used";
    else EXPECT_EQ(after(program_, node), std::vector<int>{former->second}) << "node " << number;
    EXPECT_FALSE(filled_.contains(slot(node))) << "node " << number << " overwrites a chunk";
    filled_[slot(node)] = number;
  }

  // It must hold the very chunk that is wanted.
  void drain(int number, const Node& node) {
    const auto first = filled_.find(slot(node));
    ASSERT_NE(first, filled_.end()) << "node " << number << " reads an empty slot";
    EXPECT_EQ(after(program_, node), std::vector<int>{first->second}) << "node " << number;
    const Node& filler = program_.node(first->second);
    EXPECT_EQ(filler.chunk, node.chunk);
    EXPECT_EQ(filler.source.offset, node.destination.offset);
    EXPECT_EQ(filler.bytes, node.bytes);
    filled_.erase(first);
    drained_[slot(node)] = number;
  }

  const Program& program_;
  std::map<std::pair<int, int>, int> filled_;
  std::map<std::pair<int, int>, int> drained_;
};

TEST(TransferProgram, FillsASlotOnlyAfterItsFormerChunkLeft) {
  for_random_shapes([](const TransferShape&, int, const Program& program) {
    SlotUse slots(program);
    for (std::size_t n = 0; n < program.nodes().size(); ++n) slots.issue(static_cast<int>(n));
  });
}

}  // namespace
}  // namespace polypath::test::transfer_test
