// Calls in memory that all ranks have opened to each other (collective/rank/peer_registration.h):
// ranks are threads on one simulated machine, which reports races.

#include "collective/rank/peer_registration.h"

#include <gmock/gmock.h>

#include <barrier>
#include <thread>

#include "collective/rank/node_collectives.h"
#include "collective/support/collective_call.h"
#include "collective/support/rank_buffers.h"
#include "collective/support/ranks.h"
#include "core/ignore_errors.h"
#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::open_memory_test {
namespace {

using testing::Each;
using testing::Ge;
using testing::IsEmpty;

constexpr int kRanks = 3;
constexpr int kCalls = 7;  // the first four or five are until memory is open

class OpenCalls : public testing::Test {
 protected:
  [[nodiscard]] CollectiveRequest request_of(Collective collective, bool in_place,
                                             std::uint64_t elements = 0) const {
    if (elements == 0) elements = is_of_parts(collective) ? 700'003 : 2'100'003;  // 8.4 MB
    return {.collective = collective,
            .ranks = gpus_,
            .elements = elements,
            .root = 1,
            .in_place = in_place};
  }

  static bool is_of_parts(Collective collective) {
    return collective == Collective::all_gather || collective == Collective::reduce_scatter ||
           collective == Collective::all_to_all || collective == Collective::all_to_all_v;
  }
  // Copies: kernels with mailboxes would be faster here.
  static std::string algorithm_for(Collective collective) {
    const bool reduces_or_has_root = reduces(collective) || has_root(collective);
    return reduces_or_has_root ? "flat" : "exchange";
  }

  /// `action(collectives, stream, rank)` by a thread of each rank. They wait for each other's
  /// memory as long as it takes.
  template <class Action>
  void on_ranks(const CollectiveRequest& request, Action action, Seconds timeout = Seconds{5}) {
    auto ends = bootstrap_among_threads(kRanks);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < kRanks; ++rank)
      threads.emplace_back(
          [&, rank, end = std::move(ends[static_cast<std::size_t>(rank)])]() mutable {
            const PlaceId gpu = gpus_[static_cast<std::size_t>(rank)];
            NodeCollectives collectives(driver_, driver_.machine(), collective_settings(), gpu,
                                        std::make_unique<Communicator>(std::move(end)));
            collectives.choose_from(
                {.algorithms = {algorithm_for(request.collective)}, .agreement_timeout = timeout});
            const StreamHandle stream = driver_.create_stream(gpu);
            action(collectives, stream, rank);
            driver_.destroy_stream(stream);
          });
  }

  /// What is called `kCalls` times with new values each time, which all ranks give and check.
  void expect_right(const CollectiveRequest& request, std::vector<std::uint64_t>& open_calls) {
    RankBuffers buffers(driver_, request);
    bool right = true;
    std::barrier together(kRanks);
    open_calls.assign(kRanks, 0);
    on_ranks(request, [&](NodeCollectives& collectives, StreamHandle stream, int rank) {
      for (int call = 0; call < kCalls; ++call) {
        together.arrive_and_wait();
        if (rank == 0) buffers.fill();
        together.arrive_and_wait();
        collectives.run(call_of(request, buffers, rank), stream);
        collectives.barrier();
        driver_.synchronize(stream);
        together.arrive_and_wait();
        if (rank == 0) right = right && buffers.right();
      }
      open_calls[static_cast<std::size_t>(rank)] = collectives.open_calls();
    });
    EXPECT_TRUE(right);
  }

  sim::SimDriver driver_{load_machine("h200x4")};
  std::vector<PlaceId> gpus_ = first_gpus(driver_.machine(), kRanks);
};

TEST_F(OpenCalls, AreRightWhateverIsCalled) {
  std::size_t open = 0;
  for (const Collective collective : all_collectives())
    for (const bool in_place : {false, true}) {
      SCOPED_TRACE(testing::Message() << name_of(collective) << (in_place ? ", in place" : ""));
      std::vector<std::uint64_t> open_calls;

      expect_right(request_of(collective, in_place), open_calls);

      EXPECT_THAT(open_calls, Each(open_calls.front()));
      open += open_calls.front() > 0 ? 1 : 0;
    }
  EXPECT_GE(open, 10U);  // of 14: never of `reduce`
  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(OpenCalls, AreNotMadeForFewBytes) {
  std::vector<std::uint64_t> open_calls;

  expect_right(request_of(Collective::all_reduce, true, 1000), open_calls);

  EXPECT_THAT(open_calls, Each(0U));
}

// The others would write to what is not there any more: the driver reports that.
TEST_F(OpenCalls, KnowThatMemoryWasFreedAndAllocatedAgain) {
  const CollectiveRequest request = request_of(Collective::all_to_all, false);
  std::vector<std::uint64_t> open_calls(kRanks);
  std::barrier together(kRanks);
  std::unique_ptr<RankBuffers> buffers;
  bool right = true;

  on_ranks(request, [&](NodeCollectives& collectives, StreamHandle stream, int rank) {
    for (int call = 0; call < 3 * kCalls; ++call) {
      together.arrive_and_wait();
      if (rank == 0 && call % kCalls == 0) {
        buffers.reset();
        buffers = std::make_unique<RankBuffers>(driver_, request);
      }
      if (rank == 0) buffers->fill();
      together.arrive_and_wait();
      collectives.run(call_of(request, *buffers, rank), stream);
      collectives.barrier();
      driver_.synchronize(stream);
      together.arrive_and_wait();
      if (rank == 0) right = right && buffers->right();
    }
    open_calls[static_cast<std::size_t>(rank)] = collectives.open_calls();
  });

  EXPECT_TRUE(right);
  EXPECT_THAT(open_calls, Each(Ge(std::uint64_t{3})));
  EXPECT_THAT(driver_.violations(), IsEmpty());
}

// No rank waits for one that comes late. In every case all of them do the same.
TEST_F(OpenCalls, AreMadeByAllOrByNoneWhereNobodyIsWaitedFor) {
  const CollectiveRequest request = request_of(Collective::all_gather, false);
  RankBuffers buffers(driver_, request);
  buffers.fill();
  std::vector<std::uint64_t> open_calls(kRanks);

  on_ranks(
      request,
      [&](NodeCollectives& collectives, StreamHandle stream, int rank) {
        for (int call = 0; call < kCalls; ++call) {
          if (rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));
          collectives.run(call_of(request, buffers, rank), stream);
        }
        collectives.barrier();
        driver_.synchronize(stream);
        open_calls[static_cast<std::size_t>(rank)] = collectives.open_calls();
      },
      Seconds{});

  EXPECT_TRUE(buffers.right());
  EXPECT_THAT(open_calls, Each(open_calls.front()));
  EXPECT_THAT(driver_.violations(), IsEmpty());
}

}  // namespace
}  // namespace polypath::test::open_memory_test
