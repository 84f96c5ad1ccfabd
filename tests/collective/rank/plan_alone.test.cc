// Ranks that plan their calls each by itself: right, also where they differ in whether they are in
// place, and no call waits for another rank.

#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "collective/rank/node_collectives.h"
#include "collective/support/collective_call.h"
#include "collective/support/rank_buffers.h"
#include "collective/support/ranks.h"
#include "core/error.h"
#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::plan_alone_test {
namespace {

using testing::IsEmpty;

struct Rank {
  NodeCollectives& collectives;
  StreamHandle stream;
  int number;
};

class PlanAlone : public testing::Test {
 protected:
  static constexpr int kRanks = 4;

  CollectiveRequest request_of(Collective collective, std::uint64_t elements) const {
    return {.collective = collective, .ranks = gpus_, .elements = elements, .root = 1};
  }

  /// Does it at all ranks at the same time, each of which plans alone.
  template <class Action>
  void on_ranks(Action action) {
    auto ends = bootstrap_among_threads(kRanks);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < kRanks; ++rank)
      threads.emplace_back(
          [&, rank, end = std::move(ends[static_cast<std::size_t>(rank)])]() mutable {
            const PlaceId gpu = gpus_[static_cast<std::size_t>(rank)];
            NodeCollectives collectives(driver_, driver_.machine(), collective_settings(), gpu,
                                        std::make_unique<Communicator>(std::move(end)));
            const StreamHandle stream = driver_.create_stream(gpu);
            collectives.plan_alone(options_, samples());
            action(Rank{collectives, stream, rank});
            driver_.destroy_stream(stream);
          });
  }

  /// One of each way in which kernels exchange messages.
  static std::vector<CollectiveCall> samples() {
    std::vector<CollectiveCall> samples;
    for (const std::uint64_t elements : {1, 16 << 20})
      samples.push_back({.collective = Collective::all_reduce, .elements = elements});
    return samples;
  }

  void finish(const Rank& rank) {
    rank.collectives.barrier();
    driver_.synchronize(rank.stream);
  }

  CollectiveOptions options_{.copies = false, .multiprocessors = 32, .at_once = 8_MiB};
  sim::SimDriver driver_{load_machine("h200x4")};
  std::vector<PlaceId> gpus_ = first_gpus(driver_.machine(), kRanks);
};

// Few elements go in lines, many in parcels and in rounds.
TEST_F(PlanAlone, IsRightWhateverIsCalled) {
  for (const Collective collective :
       {Collective::all_reduce, Collective::reduce, Collective::reduce_scatter,
        Collective::all_gather, Collective::all_to_all, Collective::broadcast})
    for (const std::uint64_t elements : {1, 1000, 3'000'000}) {
      SCOPED_TRACE(testing::Message() << name_of(collective) << " of " << elements);
      const CollectiveRequest request = request_of(collective, elements);
      RankBuffers buffers(driver_, request);
      buffers.fill();

      on_ranks([&](const Rank& rank) {
        rank.collectives.run(call_of(request, buffers, rank.number), rank.stream);
        finish(rank);
      });

      EXPECT_TRUE(buffers.right());
    }
  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(PlanAlone, RanksMayDifferInWhetherTheyAreInPlace) {
  for (const std::uint64_t elements : {1000, 3'000'000}) {
    const CollectiveRequest request = request_of(Collective::all_reduce, elements);
    RankBuffers buffers(driver_, request);
    buffers.fill();

    on_ranks([&](const Rank& rank) {
      CollectiveCall call = call_of(request, buffers, rank.number);
      if (rank.number % 2 == 1) {
        std::memcpy(reinterpret_cast<void*>(call.output.value),
                    reinterpret_cast<const void*>(call.input.value), elements * sizeof(float));
        call.input = call.output;
      }
      rank.collectives.run(call, rank.stream);
      finish(rank);
    });

    EXPECT_TRUE(buffers.right());
  }
  EXPECT_THAT(driver_.violations(), IsEmpty());
}

// Rank 3 calls what no rank has called so far, and returns before the others come.
TEST_F(PlanAlone, FirstCallsWaitForNoOtherRank) {
  const CollectiveRequest request = request_of(Collective::all_gather, 5000);
  RankBuffers buffers(driver_, request);
  buffers.fill();
  std::atomic<bool> returned = false;

  on_ranks([&](const Rank& rank) {
    while (rank.number != kRanks - 1 && !returned) std::this_thread::yield();
    rank.collectives.run(call_of(request, buffers, rank.number), rank.stream);
    returned = true;
    finish(rank);
  });

  EXPECT_TRUE(buffers.right());
}

TEST_F(PlanAlone, WhatNeedsOtherMemoryIsRefusedAndTheNextCallIsNot) {
  CollectiveRequest refused = request_of(Collective::all_to_all_v, 1);
  refused.counts.assign(kRanks * kRanks, 100);
  const CollectiveRequest request = request_of(Collective::all_reduce, 1000);
  RankBuffers buffers(driver_, request), other(driver_, refused);
  buffers.fill();
  std::atomic<int> refusals = 0;

  on_ranks([&](const Rank& rank) {
    try {
      rank.collectives.run(call_of(refused, other, rank.number), rank.stream);
    } catch (const RefusedByAll&) {
      ++refusals;
    }
    rank.collectives.run(call_of(request, buffers, rank.number), rank.stream);
    finish(rank);
  });

  EXPECT_EQ(refusals, kRanks);
  EXPECT_TRUE(buffers.right());
}

}  // namespace
}  // namespace polypath::test::plan_alone_test
