// Collectives of ranks of several nodes are right, whatever is called and however many they are.

#include <gmock/gmock.h>

#include "collective/ranks_of_nodes.h"
#include "support/layers.h"

namespace polypath::test::internode_collectives_test {
namespace {

using testing::Each;
using testing::IsEmpty;

constexpr Layout kLayouts[] = {{2, 1}, {2, 2}, {3, 1}, {2, 3}, {3, 2}, {4, 2}};

constexpr Collective kOthers[] = {Collective::reduce_scatter, Collective::reduce,
                                  Collective::all_gather, Collective::broadcast,
                                  Collective::all_to_all};

// Every rank is the root once. A message is several pieces, or less than one.
TEST_F(RanksOfNodes, AreRightWhateverIsCalled) {
  piece_ = 2_KiB;

  for (const Layout layout : kLayouts) {
    std::vector<CollectiveRequest> requests;
    for (const Collective collective : kOthers)
      for (const std::uint64_t elements : {1, 777})
        for (const bool in_place : {false, true})
          for (int root = 0; root < (has_root(collective) ? layout.size() : 1); ++root) {
            requests.push_back(request_of(layout, elements));
            requests.back().collective = collective;
            requests.back().in_place = in_place;
            requests.back().root = root;
          }
    expect_right(layout, requests);
  }

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

// Of n ranks c_ij = (i·i + j·j + i·j) mod 5, the same both ways: some are 0, and all of one pair.
TEST_F(RanksOfNodes, GiveEachOtherBlocksOfDifferentLengths) {
  piece_ = 1_KiB;

  for (const Layout layout : kLayouts) {
    std::vector<CollectiveRequest> requests;
    for (const std::uint64_t elements : {1, 301})
      for (const bool in_place : {false, true}) {
        CollectiveRequest request = request_of(layout, elements);
        request.collective = Collective::all_to_all_v;
        request.in_place = in_place;
        for (int i = 0; i < layout.size(); ++i)
          for (int j = 0; j < layout.size(); ++j)
            request.counts.push_back(static_cast<std::uint64_t>((i * i + j * j + i * j) % 5));
        requests.push_back(std::move(request));
      }
    expect_right(layout, requests);
  }

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

// All send to one, more than any of them sends; one sends to all, more than any of them gets; and
// each has one other that it sends more to than to the rest together.
std::vector<std::vector<std::uint64_t>> lopsided_counts(int ranks) {
  std::vector<std::vector<std::uint64_t>> all(3);
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to) {
      all[0].push_back(to == 0 ? 4 : 0);
      all[1].push_back(from == ranks - 1 ? 4 : 0);
      all[2].push_back((from + 1) % ranks == to ? 9 : 1);
    }
  return all;
}

TEST_F(RanksOfNodes, GiveOneRankMoreThanAnybodyGivesAndTheOtherWayRound) {
  piece_ = 1_KiB;

  for (const Layout layout : kLayouts) {
    std::vector<CollectiveRequest> requests;
    for (const auto& counts : lopsided_counts(layout.size()))
      for (const std::uint64_t elements : {1, 301}) {
        requests.push_back(request_of(layout, elements));
        requests.back().collective = Collective::all_to_all_v;
        requests.back().counts = counts;
      }
    expect_right(layout, requests);
  }

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

// Within a node, to another one, and back; no other rank has memory.
TEST_F(RanksOfNodes, SendOneAnotherWhatNobodyElseHas) {
  const Layout layout{2, 2};
  piece_ = 1_KiB;
  std::vector<CollectiveRequest> requests;
  for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 2), std::pair(3, 0)})
    requests.push_back(send_receive(request_of(layout, 1003), from, to));

  expect_right(layout, requests);

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

// Fewer elements than ranks, odd counts, and several pieces of which the last one is smaller.
TEST_F(RanksOfNodes, AreRightWhateverTheirNumberAndTheSize) {
  piece_ = 4_KiB;

  for (const Layout layout : kLayouts) {
    std::vector<CollectiveRequest> requests;
    for (const std::uint64_t elements : {1, 5, 1000, 10'007})
      for (const bool in_place : {false, true}) {
        requests.push_back(request_of(layout, elements));
        requests.back().in_place = in_place;
      }
    expect_right(layout, requests);
  }

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(RanksOfNodes, ReduceAllTypesByAllOperations) {
  const Layout layout{3, 2};
  piece_ = 1_KiB;
  std::vector<CollectiveRequest> requests;
  for (const ElementType type : all_element_types())
    for (const ReduceOperator operation : all_reduce_operators())
      if (can_reduce(operation, type)) {
        requests.push_back(request_of(layout, 1003));
        requests.back().reduction = {.operation = operation, .type = type};
      }

  expect_right(layout, requests);

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

// One after another in one stream and then in another one, of other kinds and sizes in between.
TEST_F(RanksOfNodes, CallOneAfterAnotherWithoutWaiting) {
  const Layout layout{2, 2};
  piece_ = 2_KiB;
  const CollectiveRequest request = request_of(layout, 5001), small = request_of(layout, 3);
  RankBuffers buffers(driver_, request), others(driver_, small);
  buffers.fill(), others.fill();

  expect_no_errors(on_ranks(layout, [&](const Rank& rank) {
    const StreamHandle second = driver_.create_stream(gpus_[static_cast<std::size_t>(rank.number)]);
    for (int i = 0; i < 5; ++i) {
      rank.collectives.run(call_of(request, buffers, rank.number), rank.stream);
      rank.collectives.run(call_of(small, others, rank.number), i % 2 == 0 ? second : rank.stream);
      rank.collectives.barrier(second);
    }
    wait(rank);
    driver_.destroy_stream(second);
  }));

  EXPECT_TRUE(buffers.right());
  EXPECT_TRUE(others.right());
  EXPECT_THAT(driver_.violations(), IsEmpty());
}

// In float32 (2^24 - 2^24) + 1 = 1 and 2^24 + (-2^24 + 1) = 1, but (2^24 + 1) - 2^24 = 0: 2^24 + 1
// is rounded to 2^24. So nodes with 2^24, 1 and -2^24 have 0 in their order, and 1 where the
// second or the third one begins.
TEST_F(RanksOfNodes, AddNodesUpInTheirOrderWhateverTheSize) {
  const Layout layout{3, 1};
  piece_ = 4_KiB;
  const float values[] = {16'777'216, 1, -16'777'216};
  for (const std::uint64_t elements : {1, 3, 4096}) {
    const CollectiveRequest request = request_of(layout, elements);
    RankBuffers buffers(driver_, request);
    buffers.fill();
    for (std::size_t rank = 0; rank < 3; ++rank)
      std::fill_n(reinterpret_cast<float*>(buffers.addresses()[rank].value), elements,
                  values[rank]);

    expect_no_errors(on_ranks(layout, [&](const Rank& rank) {
      rank.collectives.run(call_of(request, buffers, rank.number), rank.stream);
      wait(rank);
    }));

    for (int rank = 0; rank < 3; ++rank) {
      const auto* const output = reinterpret_cast<const float*>(buffers.output(rank));
      EXPECT_THAT(std::vector<float>(output, output + elements), Each(0.0F));
    }
  }
}

}  // namespace
}  // namespace polypath::test::internode_collectives_test
