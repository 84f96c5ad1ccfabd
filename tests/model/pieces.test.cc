// Pieces by path: which path gets which, and the program that this makes.

#include "model/pieces.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::pieces_test {
namespace {

class PiecesOf : public testing::Test {
 protected:
  /// From the host to gpu0: directly, and through gpu1 and gpu2.
  [[nodiscard]] PieceSplit split(std::vector<double> shares, Bytes chunk = 256_KiB) const {
    const auto hop = [&](const char* from, const char* to) {
      return *machine_.find_hop(machine_.find_place(from), machine_.find_place(to));
    };
    std::vector<Path> paths{{hop("host0", "gpu0"), {}},
                            {hop("host0", "gpu1"), hop("gpu1", "gpu0")},
                            {hop("host0", "gpu2"), hop("gpu2", "gpu0")}};
    paths.resize(shares.size());
    return {paths, std::move(shares), chunk, 8_MiB, 0_B};
  }
  static Bytes carried(const TransferShape& shape, std::size_t path) {
    Bytes sum;
    for (const Bytes chunk : shape.paths[path].chunks) sum += chunk;
    return sum;
  }

  Machine machine_ = load_machine("h200x4");
};

TEST_F(PiecesOf, EqualSizesAreDealtOutByShares) {
  const std::vector<Bytes> sizes(100, 64_KiB);

  const DealtPieces dealt = deal(sizes, split({0.5, 0.3, 0.2}));

  const TransferShape shape = shape_of(sizes, dealt);
  EXPECT_EQ(shape.total(), 64_KiB * 100);
  EXPECT_EQ(carried(shape, 0), 64_KiB * 50);
  EXPECT_EQ(carried(shape, 1), 64_KiB * 30);
  EXPECT_EQ(carried(shape, 2), 64_KiB * 20);
}

TEST_F(PiecesOf, AllSizesComeNearTheShares) {
  std::vector<Bytes> sizes;
  Bytes total;
  for (std::uint64_t number = 0; number < 300; ++number) {
    sizes.push_back({4096 + number * 7919 % 2000000});
    total += sizes.back();
  }

  const DealtPieces dealt = deal(sizes, split({0.5, 0.3, 0.2}, 1_MiB));

  const TransferShape shape = shape_of(sizes, dealt);
  EXPECT_NEAR(carried(shape, 0).real() / total.real(), 0.5, 0.01);
  EXPECT_NEAR(carried(shape, 1).real() / total.real(), 0.3, 0.01);
  EXPECT_NEAR(carried(shape, 2).real() / total.real(), 0.2, 0.01);
}

TEST_F(PiecesOf, LargerSizesThanASlotGoDirectly) {
  const std::vector<Bytes> sizes{1_MiB, 9_MiB, 1_MiB, 9_MiB, 1_MiB};

  const DealtPieces dealt = deal(sizes, split({0, 1}));

  for (const PieceBatch& batch : dealt.batches)
    if (dealt.paths[batch.path].staged()) EXPECT_EQ(sizes[batch.first], 1_MiB);
}

TEST_F(PiecesOf, AChunkHoldsWhatFitsIntoIt) {
  const std::vector<Bytes> sizes(64, 100_KiB);

  const TransferShape shape = shape_of(sizes, deal(sizes, split({0.5, 0.5}, 256_KiB)));

  for (const Bytes chunk : shape.paths[1].chunks) EXPECT_EQ(chunk, 200_KiB);
}

TEST_F(PiecesOf, APathWithoutAnyIsNotThere) {
  const std::vector<Bytes> sizes(20, 64_KiB);

  const DealtPieces dealt = deal(sizes, split({1, 0, 0}));

  EXPECT_EQ(dealt.paths.size(), 1U);
  EXPECT_EQ(shape_of(sizes, dealt).total(), 64_KiB * 20);
}

// Each piece is read once and written once; what a chunk holds in its slot does not overlap, and is
// aligned.
TEST_F(PiecesOf, OneProgramAreCopiedOnce) {
  std::vector<Bytes> sizes;
  for (std::uint64_t number = 0; number < 90; ++number) sizes.push_back({4096 + number * 777});
  const DealtPieces dealt = deal(sizes, split({0.4, 0.3, 0.3}));

  const Program program = program_of(machine_, sizes, dealt, 2);

  std::multiset<int> read, written;
  std::map<std::pair<int, int>, std::uint64_t> filled;  // by path and chunk
  for (const Node& node : program.nodes()) {
    if (!program.buffer(node.source).is_scratch()) read.insert(node.source.buffer);
    if (!program.buffer(node.destination).is_scratch()) {
      written.insert(node.destination.buffer);
      continue;
    }
    std::uint64_t& end = filled[{node.path, node.chunk}];
    EXPECT_GE(node.destination.offset.value, end);
    EXPECT_EQ(node.destination.offset.value % kPieceAlignment.value, 0U);
    end = node.destination.offset.value + node.bytes.value;
  }
  ASSERT_EQ(read.size(), sizes.size());
  ASSERT_EQ(written.size(), sizes.size());
  for (std::size_t piece = 0; piece < sizes.size(); ++piece) {
    EXPECT_EQ(read.count(source_buffer(piece)), 1U);
    EXPECT_EQ(written.count(destination_buffer(piece)), 1U);
  }
}

TEST_F(PiecesOf, OneChunkNeedOneEventForEachHop) {
  const std::vector<Bytes> sizes(160, 64_KiB);
  const DealtPieces dealt = deal(sizes, split({0.5, 0.5}, 1_MiB));

  const Program program = program_of(machine_, sizes, dealt, 2);

  const auto awaited = std::count_if(program.nodes().begin(), program.nodes().end(),
                                     [](const Node& node) { return node.awaited; });
  EXPECT_EQ(dealt.paths.size(), 2U);
  EXPECT_LE(awaited, 2 * 5);
}

}  // namespace
}  // namespace polypath::test::pieces_test
