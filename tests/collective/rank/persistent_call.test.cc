// Calls that ranks make again and again: what the first one has found out holds for the next ones
// as long as the same may be chosen.

#include <gmock/gmock.h>

#include <thread>

#include "collective/rank/node_collectives.h"
#include "collective/support/collective_call.h"
#include "collective/support/ranks.h"
#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::repeated_call_test {
namespace {

using testing::IsEmpty;

class PersistentCalls : public testing::Test {
 protected:
  static constexpr int kRanks = 3;

  /// Does it at all ranks at the same time, each with an end of its own.
  template <class Action>
  void on_ranks(Action action) {
    auto ends = bootstrap_among_threads(kRanks);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < kRanks; ++rank)
      threads.emplace_back([&, rank,
                            end = std::move(ends[static_cast<std::size_t>(rank)])]() mutable {
        const PlaceId gpu = gpus_[static_cast<std::size_t>(rank)];
        NodeCollectives own(driver_, driver_.machine(), settings_, gpu,
                            std::make_unique<Communicator>(std::move(end), CommunicatorOptions{}));
        const StreamHandle stream = driver_.create_stream(gpu);
        action(own, stream, rank);
        driver_.destroy_stream(stream);
      });
    threads.clear();
    EXPECT_THAT(driver_.violations(), IsEmpty());
  }

  void run_once(NodeCollectives& own, PersistentCall& call, StreamHandle stream) {
    own.barrier();
    own.run(call, stream);
    own.barrier();
    driver_.synchronize(stream);
    own.barrier();
  }

  /// Makes the call at all ranks so often; each sees to what comes before a call.
  template <class Before>
  void run_again(const CollectiveRequest& request, int times, Before before) {
    RankBuffers buffers(driver_, request);
    on_ranks([&](NodeCollectives& own, StreamHandle stream, int rank) {
      PersistentCall call(call_of(request, buffers, rank));
      for (int time = 0; time < times; ++time) {
        if (rank == 0) buffers.fill();
        before(own, time);
        run_once(own, call, stream);
        if (rank == 0) EXPECT_TRUE(buffers.right()) << "call " << time;
      }
    });
  }

  [[nodiscard]] CollectiveRequest request_of(Collective collective, std::uint64_t elements) const {
    return {.collective = collective, .ranks = gpus_, .elements = elements, .root = 1};
  }

  Settings settings_ = collective_settings();
  sim::SimDriver driver_{load_machine("h200x4")};
  std::vector<PlaceId> gpus_ = first_gpus(driver_.machine(), kRanks);
};

// One kernel for each rank.
TEST_F(PersistentCalls, AreRightEachTime) {
  for (const Collective collective : all_collectives()) {
    SCOPED_TRACE(testing::Message() << name_of(collective));
    run_again(request_of(collective, 900), 4, [](NodeCollectives&, int) {});
  }
}

// Copies, through scratch memory at first and then into memory that is open.
TEST_F(PersistentCalls, OfManyBytesAreRightEachTime) {
  run_again(request_of(Collective::all_gather, 3'000'000), 5, [](NodeCollectives&, int) {});
}

TEST_F(PersistentCalls, AreRightAfterAnotherChoice) {
  run_again(request_of(Collective::all_reduce, 900), 6, [](NodeCollectives& own, int time) {
    if (time == 2) own.choose_from({.algorithms = {"ring"}});
    if (time == 4) own.choose_from({});
  });
}

// Else each call would give up the other one's graph, and wait for a new one. The first kind's is
// made once more, when the other one's kernel is there.
TEST_F(PersistentCalls, OfMoreKindsThanThereIsRoomForAreNotInstantiatedEachTime) {
  settings_.graph_cache = 1;
  const auto one = request_of(Collective::all_reduce, 900);
  const auto other = request_of(Collective::all_gather, 900);
  RankBuffers of_one(driver_, one), of_other(driver_, other);
  of_one.fill(), of_other.fill();

  on_ranks([&](NodeCollectives& own, StreamHandle stream, int rank) {
    PersistentCall call(call_of(one, of_one, rank)), next(call_of(other, of_other, rank));
    for (int time = 0; time < 3; ++time) run_once(own, call, stream), run_once(own, next, stream);
  });

  EXPECT_LE(driver_.uses(sim::Call::instantiate), 2 * kRanks);
  EXPECT_TRUE(of_one.right());
  EXPECT_TRUE(of_other.right());
}

}  // namespace
}  // namespace polypath::test::repeated_call_test
