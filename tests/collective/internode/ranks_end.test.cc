// How ranks end: what one has seen all report, and nothing is given back that may still be used.

#include <gmock/gmock.h>

#include <atomic>

#include "collective/ranks_of_nodes.h"
#include "support/layers.h"

namespace polypath::test::ranks_end_test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using EndOfRanksOfNodes = RanksOfNodes;

class EndOfRanks : public testing::Test {
 protected:
  static constexpr int kRanks = 3;

  /// Does it at all ranks of one node at the same time, then closes them; each one's error, or "".
  template <class Action>
  std::vector<std::string> on_ranks(Action action, Seconds timeout = kLong) {
    auto ends = bootstrap_among_threads(kRanks);
    return in_threads(kRanks, [&](int rank) {
      const auto at = static_cast<std::size_t>(rank);
      NodeCollectives collectives(
          driver_, driver_.machine(), collective_settings(), gpus_[at],
          std::make_unique<Communicator>(std::move(ends[at]),
                                         CommunicatorOptions{.node = {}, .timeout = timeout}));
      const StreamHandle stream = driver_.create_stream(gpus_[at]);
      collectives.choose_from({.algorithms = {"ring"}});
      action(collectives, stream);
      collectives.close();
    });
  }

  [[nodiscard]] CollectiveRequest request() const {
    return {.collective = Collective::all_gather, .ranks = gpus_, .elements = 300'000};
  }

  sim::SimDriver driver_{load_machine("h200x4")};
  std::vector<PlaceId> gpus_ = first_gpus(driver_.machine(), kRanks);
};

TEST_F(EndOfRanks, IsWellWhereAllWentWell) {
  RankBuffers buffers(driver_, request());
  buffers.fill();

  expect_no_errors(on_ranks([&](NodeCollectives& ranks, StreamHandle stream) {
    ranks.run(call_of(request(), buffers, ranks.rank()), stream);
  }));

  EXPECT_TRUE(buffers.right());
  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(EndOfRanks, IsAnErrorOfAllThatSaysWhyOneGaveUp) {
  RankBuffers buffers(driver_, request());
  buffers.fill();

  const auto errors = on_ranks([&](NodeCollectives& ranks, StreamHandle stream) {
    if (ranks.rank() == 1) ranks.communicator().abort("no more gradients");
    else ranks.run(call_of(request(), buffers, ranks.rank()), stream);
  });

  EXPECT_THAT(errors, Each(HasSubstr("no more gradients")));
  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(EndOfRanks, IsAnErrorOfAllIfOneDoesNotMakeTheLastCall) {
  RankBuffers buffers(driver_, request());
  buffers.fill();

  const auto errors = on_ranks([&](NodeCollectives& ranks, StreamHandle stream) {
    ranks.prepare(call_of(request(), buffers, ranks.rank()));
    if (ranks.rank() != 2) ranks.run(call_of(request(), buffers, ranks.rank()), stream);
  });

  EXPECT_THAT(errors, Each(HasSubstr("Rank 2 has left, where rank")));
}

TEST_F(EndOfRanks, IsAnErrorOfAllIfTheDriverFailsAtOne) {
  RankBuffers buffers(driver_, request());
  buffers.fill();
  std::atomic<int> enqueued = 0;

  const auto errors = on_ranks([&](NodeCollectives& ranks, StreamHandle stream) {
    ranks.run(call_of(request(), buffers, ranks.rank()), stream);
    ranks.barrier();
    if (++enqueued == kRanks) driver_.fail_nth(sim::Call::synchronize, 1);
    while (enqueued < kRanks) std::this_thread::yield();
  });

  EXPECT_THAT(errors, Each(AllOf(HasSubstr("Calls of rank"), HasSubstr("have not ended well"))));
}

// Synchronising says whether it went well, too.
TEST_F(EndOfRanks, IsForeseenByWhoSynchronises) {
  RankBuffers buffers(driver_, request());
  buffers.fill();

  const auto errors = on_ranks([&](NodeCollectives& ranks, StreamHandle stream) {
    if (ranks.rank() == 1) return ranks.communicator().abort("no more gradients");
    ranks.run(call_of(request(), buffers, ranks.rank()), stream);
    (void)awaited_verdict(ranks.communicator());
    ranks.synchronize();
    ADD_FAILURE() << "a call without one of its ranks went well";
  });

  EXPECT_THAT(errors, Each(HasSubstr("no more gradients")));
}

TEST_F(EndOfRanksOfNodes, GivesNothingBackThatIsInUseWhereNothingWasCalled) {
  expect_no_errors(on_ranks({2, 2}, [](const Rank& rank) { rank.collectives.close(); }));

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

// Streams that an abort lets go are in no order with each other any more, which is all that may be
// wrong: nothing is used that has been given back.
TEST_F(EndOfRanksOfNodes, IsAnErrorOfAllThatSaysWhyOneGaveUp) {
  const Layout layout{2, 2};
  const CollectiveRequest request = request_of(layout, 1000);
  RankBuffers buffers(driver_, request);
  buffers.fill();

  const auto errors = on_ranks(layout, [&](const Rank& rank) {
    rank.collectives.choose_from({.algorithms = {"ring"}});
    if (rank.number == 3) rank.collectives.communicator().abort("no more gradients");
    else rank.collectives.run(call_of(request, buffers, rank.number), rank.stream);
    rank.collectives.close();
  });

  EXPECT_THAT(errors, Each(HasSubstr("no more gradients")));
  EXPECT_THAT(driver_.violations(), Each(HasSubstr("nothing orders them")));
}

// Of other nodes, too, and at once: no rank waits for the timeout.
TEST_F(EndOfRanksOfNodes, IsAnErrorOfAllIfOneEndsBeforeTheOthers) {
  const Layout layout{2, 2};
  const CollectiveRequest request = request_of(layout, 1000);
  RankBuffers buffers(driver_, request);
  buffers.fill();

  const auto errors = on_ranks(layout, [&](const Rank& rank) {
    rank.collectives.choose_from({.algorithms = {"ring"}});
    if (rank.number < 2) rank.collectives.run(call_of(request, buffers, rank.number), rank.stream);
    rank.collectives.close();
  });

  EXPECT_THAT(errors, Each(AnyOf(HasSubstr("Rank 2 has left, where rank 0 calls allreduce"),
                                 HasSubstr("Rank 3 has left, where rank 1 calls allreduce"))));
}

TEST_F(EndOfRanksOfNodes, OrABarrierAgainstACallNamesBoth) {
  const Layout layout{2, 1};
  const CollectiveRequest request = request_of(layout, 1000);
  RankBuffers buffers(driver_, request);
  buffers.fill();

  const auto errors = on_ranks(layout, [&](const Rank& rank) {
    if (rank.number == 0) rank.collectives.barrier();
    else rank.collectives.run(call_of(request, buffers, rank.number), rank.stream);
    rank.collectives.close();
  });

  EXPECT_THAT(errors, Each(AllOf(HasSubstr("Rank 0 calls barrier"),
                                 HasSubstr("rank 1 calls allreduce of 1000"))));
}

// A call of which one rank enqueues only a part: what is queued everywhere waits for it, and races
// once it is released, but it is released before its memory goes.
TEST_F(EndOfRanksOfNodes, GivesNothingBackThatIsInUseWhereACallFails) {
  const Layout layout{2, 2};
  const CollectiveRequest request = request_of(layout, 3'000'000);
  RankBuffers buffers(driver_, request);
  for (int nth = 1; nth < 40; nth += 6) {
    driver_.fail_nth(sim::Call::copy, nth);

    const auto errors = on_ranks(layout, [&](const Rank& rank) {
      rank.collectives.choose_from({.algorithms = {"ring"}});
      rank.collectives.run(call_of(request, buffers, rank.number), rank.stream);
      rank.collectives.close();
    });

    EXPECT_THAT(errors, Each(Not(IsEmpty()))) << nth;
    EXPECT_THAT(driver_.violations(), Not(Contains(HasSubstr("use after free")))) << nth;
    driver_.clear_faults();
  }
}

}  // namespace
}  // namespace polypath::test::ranks_end_test
