// The DAG of copies: every byte once, slots only reused when free, and nothing waits for what comes
// later.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "plan/coverage.h"
#include "plan/plan.h"
#include "support/random.h"

namespace polypath {
namespace {

using test::covers_once;
using test::Random;

constexpr Path kDirect{{0}, {}};
constexpr Path kStaged{{1}, {2}};
constexpr Path kOther{{3}, {4}};

PathShape carrying(const Path& path, const std::vector<std::uint64_t>& chunks) {
  PathShape shape{path, {}};
  for (const std::uint64_t chunk : chunks) shape.chunks.push_back({chunk});
  return shape;
}

TransferShape shape_with(std::vector<PathShape> paths) {
  return {Executor::stream, std::move(paths)};
}

/// Distinct paths with random chunks; at most one is direct.
TransferShape random_shape(Random& random) {
  TransferShape shape{Executor::stream, {}};
  const int paths = random.integer(1, 6);
  const int direct = random.integer(-1, paths - 1);
  for (int p = 0; p < paths; ++p) {
    const Path path = p == direct ? Path{{2 * p}, {}} : Path{{2 * p}, {2 * p + 1}};
    PathShape part{path, {}};
    const int chunks = path.staged() ? random.integer(1, 20) : 1;
    for (int chunk = 0; chunk < chunks; ++chunk) part.chunks.push_back({random.between(1, 9999)});
    shape.paths.push_back(std::move(part));
  }
  return shape;
}

/// Calls `check(shape, slots, nodes)` for random shapes.
template <class Check>
void for_random_shapes(Check check) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const TransferShape shape = random_shape(random);
    const int slots = random.integer(1, 8);
    check(shape, slots, build_nodes(shape, slots));
  }
}

TEST(Nodes, OfADirectPathAreOneCopy) {
  const auto nodes = build_nodes(shape_with({carrying(kDirect, {1000})}), 4);

  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0].hop, kDirect.first);
  EXPECT_EQ(nodes[0].from, End::source);
  EXPECT_EQ(nodes[0].to, End::destination);
  EXPECT_EQ(nodes[0].offset, 0_B);
  EXPECT_EQ(nodes[0].bytes, 1000_B);
  EXPECT_EQ(nodes[0].slot, -1);
  EXPECT_TRUE(nodes[0].after.empty());
  EXPECT_FALSE(nodes[0].awaited);
}

TEST(Nodes, OfNoPathAreNone) { EXPECT_TRUE(build_nodes(shape_with({}), 4).empty()); }

// Issue order by hand, chunk by chunk: the first copies of all paths, then their second ones.
//   round 0: direct | staged 0 first | other 0 first | staged 0 second | other 0 second
//   round 1: staged 1 first | staged 1 second
TEST(Nodes, AreIssuedChunkByChunkFirstCopiesFirst) {
  const auto nodes =
      build_nodes(shape_with({carrying(kDirect, {500}), carrying(kStaged, {300, 200}),
                              carrying(kOther, {100})}),
                  4);

  std::vector<std::pair<int, std::uint64_t>> issued;
  for (const CopyNode& node : nodes) issued.emplace_back(node.hop.value, node.offset.value);
  EXPECT_EQ(issued, (std::vector<std::pair<int, std::uint64_t>>{
                        {0, 0}, {1, 500}, {3, 1000}, {2, 500}, {4, 1000}, {1, 800}, {2, 800}}));
}

// A ring of two slots and four chunks; nodes alternate first and second copy:
//   chunk       0     1     2     3
//   nodes     0, 1  2, 3  4, 5  6, 7
//   slot        0     1     0     1
// Chunk 2 waits for node 1, chunk 3 for node 3; each second copy waits for its first.
TEST(Nodes, WaitForTheSlotsFormerChunk) {
  const auto nodes = build_nodes(shape_with({carrying(kStaged, {10, 10, 10, 10})}), 2);

  std::vector<std::vector<int>> after;
  std::vector<int> slots;
  std::vector<bool> awaited;
  for (const CopyNode& node : nodes) {
    after.push_back(node.after);
    slots.push_back(node.slot);
    awaited.push_back(node.awaited);
  }
  EXPECT_EQ(after, (std::vector<std::vector<int>>{{}, {0}, {}, {2}, {1}, {4}, {3}, {6}}));
  EXPECT_EQ(slots, (std::vector<int>{0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(awaited, (std::vector<bool>{true, true, true, true, true, false, true, false}));
}

TEST(Nodes, BringEveryByteOnce) {
  for_random_shapes([](const TransferShape& shape, int, const std::vector<CopyNode>& nodes) {
    EXPECT_TRUE(covers_once(nodes, shape.total()));
  });
}

TEST(Nodes, ReadEveryByteOnce) {
  for_random_shapes([](const TransferShape& shape, int, std::vector<CopyNode> nodes) {
    std::erase_if(nodes, [](const CopyNode& node) { return node.from != End::source; });
    for (CopyNode& node : nodes) node.to = End::destination;

    EXPECT_TRUE(covers_once(nodes, shape.total()));
  });
}

TEST(Nodes, OfOnePathAreOneContiguousRange) {
  for_random_shapes([](const TransferShape& shape, int, const std::vector<CopyNode>& nodes) {
    Bytes begin;
    for (std::size_t p = 0; p < shape.paths.size(); ++p) {
      Bytes end = begin;
      for (const CopyNode& node : nodes)
        if (node.path == static_cast<int>(p) && node.to == End::destination) {
          EXPECT_EQ(node.offset, end);
          EXPECT_EQ(node.bytes, shape.paths[p].chunks[static_cast<std::size_t>(node.chunk)]);
          end += node.bytes;
        }
      begin = end;
    }
  });
}

TEST(Nodes, UseOnlySlotsOfTheRing) {
  for_random_shapes([](const TransferShape& shape, int slots, const std::vector<CopyNode>& nodes) {
    for (const CopyNode& node : nodes) {
      const bool staged = shape.paths[static_cast<std::size_t>(node.path)].path.staged();
      EXPECT_EQ(node.slot >= 0, staged);
      EXPECT_LT(node.slot, slots);
      EXPECT_EQ(node.from == End::slot || node.to == End::slot, staged);
    }
  });
}

TEST(Nodes, WaitOnlyForWhatCameBefore) {
  for_random_shapes([](const TransferShape&, int, const std::vector<CopyNode>& nodes) {
    for (std::size_t n = 0; n < nodes.size(); ++n)
      for (const int earlier : nodes[n].after) {
        EXPECT_GE(earlier, 0);
        EXPECT_LT(earlier, static_cast<int>(n));
      }
  });
}

TEST(Nodes, AreAwaitedExactlyIfALaterOneWaits) {
  for_random_shapes([](const TransferShape&, int, const std::vector<CopyNode>& nodes) {
    std::set<int> waited_for;
    for (const CopyNode& node : nodes) waited_for.insert(node.after.begin(), node.after.end());

    for (std::size_t n = 0; n < nodes.size(); ++n)
      EXPECT_EQ(nodes[n].awaited, waited_for.contains(static_cast<int>(n))) << "node " << n;
  });
}

/// Who used each slot of each ring last, as the nodes are issued.
class Rings {
 public:
  explicit Rings(const std::vector<CopyNode>& nodes) : nodes_(nodes) {}

  void issue(int n) {
    const CopyNode& node = nodes_[static_cast<std::size_t>(n)];
    if (node.slot < 0) return;
    if (node.to == End::slot) fill(n, node);
    else drain(n, node);
  }

 private:
  // The slot's former chunk must have left it.
  void fill(int n, const CopyNode& node) {
    const auto former = drained_.find({node.path, node.slot});
    if (former == drained_.end())
      EXPECT_TRUE(node.after.empty()) << "node " << n << " waits for a slot never used";
    else EXPECT_EQ(node.after, std::vector<int>{former->second}) << "node " << n;
    EXPECT_FALSE(filled_.contains({node.path, node.slot})) << "node " << n << " overwrites a chunk";
    filled_[{node.path, node.slot}] = n;
  }

  // It must hold the very chunk that is wanted.
  void drain(int n, const CopyNode& node) {
    const auto first = filled_.find({node.path, node.slot});
    ASSERT_NE(first, filled_.end()) << "node " << n << " reads an empty slot";
    EXPECT_EQ(node.after, std::vector<int>{first->second}) << "node " << n;
    const CopyNode& filler = nodes_[static_cast<std::size_t>(first->second)];
    EXPECT_EQ(filler.chunk, node.chunk);
    EXPECT_EQ(filler.offset, node.offset);
    EXPECT_EQ(filler.bytes, node.bytes);
    filled_.erase(first);
    drained_[{node.path, node.slot}] = n;
  }

  const std::vector<CopyNode>& nodes_;
  std::map<std::pair<int, int>, int> filled_;
  std::map<std::pair<int, int>, int> drained_;
};

TEST(Nodes, FillASlotOnlyAfterItsFormerChunkLeft) {
  for_random_shapes([](const TransferShape&, int, const std::vector<CopyNode>& nodes) {
    Rings rings(nodes);
    for (std::size_t n = 0; n < nodes.size(); ++n) rings.issue(static_cast<int>(n));
  });
}

bool same(const CopyNode& a, const CopyNode& b) {
  return a.hop == b.hop && a.from == b.from && a.to == b.to && a.offset == b.offset &&
         a.bytes == b.bytes && a.path == b.path && a.chunk == b.chunk && a.slot == b.slot &&
         a.after == b.after && a.awaited == b.awaited;
}

bool same(const std::vector<CopyNode>& a, const std::vector<CopyNode>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const CopyNode& x, const CopyNode& y) { return same(x, y); });
}

TEST(Structure, IsEqualForEqualShapes) {
  for_random_shapes([](const TransferShape& shape, int slots, const std::vector<CopyNode>& nodes) {
    EXPECT_EQ(structure_of(nodes), structure_of(build_nodes(shape, slots)));
  });
}

// Few paths, chunks and sizes, so that equal and nearly equal shapes are frequent.
TEST(Structure, IsEqualExactlyForEqualNodes) {
  Random random(11);
  const auto draw = [&] {
    TransferShape shape{Executor::stream, {}};
    if (random.chance(50)) shape.paths.push_back(carrying(kDirect, {random.between(1, 2)}));
    for (const Path& path : {kStaged, kOther}) {
      if (random.chance(40)) continue;
      PathShape part{path, {}};
      for (int left = random.integer(1, 3); left > 0; --left)
        part.chunks.push_back({random.between(1, 2)});
      shape.paths.push_back(part);
    }
    return build_nodes(shape, random.integer(1, 3));
  };
  std::map<std::string, std::vector<CopyNode>> known;
  int repeated = 0;

  for (int round = 0; round < 5000; ++round) {
    const auto nodes = draw();
    const auto [entry, is_new] = known.emplace(structure_of(nodes), nodes);
    ASSERT_TRUE(same(entry->second, nodes)) << entry->first;
    repeated += !is_new;
  }

  for (auto a = known.begin(); a != known.end(); ++a)
    for (auto b = std::next(a); b != known.end(); ++b)
      ASSERT_FALSE(same(a->second, b->second)) << a->first << " and " << b->first;
  EXPECT_GT(repeated, 0);
}

}  // namespace
}  // namespace polypath
