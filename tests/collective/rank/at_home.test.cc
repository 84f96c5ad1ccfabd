// Calls in which nothing goes from one rank to another: of one rank, of no elements, of counts that
// are 0. They are copies or nothing, and the ranks' other calls are right before and after them.

#include <gmock/gmock.h>

#include <thread>

#include "collective/rank/node_collectives.h"
#include "collective/support/collective_call.h"
#include "collective/support/rank_buffers.h"
#include "collective/support/ranks.h"
#include "machine/load_machine.h"
#include "support/errors.h"
#include "support/forwarding_driver.h"

namespace polypath::test::at_home_test {
namespace {

using testing::IsEmpty;

struct Rank {
  NodeCollectives& collectives;
  StreamHandle stream;
  int number;
};

/// All of its streams are being captured.
class Capturing : public ForwardingDriver {
 public:
  using ForwardingDriver::ForwardingDriver;
  bool is_capturing(StreamHandle) override { return true; }
};

class AtHome : public testing::Test {
 protected:
  template <class Action>
  void on_ranks(int count, Action action) {
    on_ranks(count, driver_, action);
  }
  template <class Action>
  void on_ranks(int count, Driver& driver, Action action) {
    auto ends = bootstrap_among_threads(count);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < count; ++rank)
      threads.emplace_back(
          [&, rank, end = std::move(ends[static_cast<std::size_t>(rank)])]() mutable {
            const PlaceId gpu =
                driver_.machine().places_of(PlaceKind::gpu)[static_cast<std::size_t>(rank)];
            CommunicatorOptions options;
            options.timeout = Seconds{20};
            NodeCollectives collectives(driver, driver_.machine(), collective_settings(), gpu,
                                        std::make_unique<Communicator>(std::move(end), options));
            const StreamHandle stream = driver.create_stream(gpu);
            action(Rank{collectives, stream, rank});
            driver.destroy_stream(stream);
          });
  }

  /// Runs the call at all ranks; they have what request.h says.
  void expect_right(const CollectiveRequest& request) {
    RankBuffers buffers(driver_, request);
    buffers.fill();

    on_ranks(request.size(), [&](const Rank& rank) {
      rank.collectives.run(call_of(request, buffers, rank.number), rank.stream);
      rank.collectives.barrier();
      driver_.synchronize(rank.stream);
    });

    EXPECT_TRUE(buffers.right());
  }

  [[nodiscard]] std::vector<PlaceId> gpus(int count) const {
    return first_gpus(driver_.machine(), count);
  }

  sim::SimDriver driver_{load_machine("h200x4")};
};

TEST_F(AtHome, CallsOfOneRankAreCopies) {
  for (const Collective collective : all_collectives())
    for (const ReduceOperator operation : {ReduceOperator::sum, ReduceOperator::average})
      for (const bool in_place : {false, true}) {
        SCOPED_TRACE(testing::Message() << name_of(collective) << ", " << name_of(operation)
                                        << (in_place ? ", in place" : ""));
        expect_right({.collective = collective,
                      .ranks = gpus(1),
                      .elements = 1000,
                      .reduction = {.operation = operation},
                      .in_place = in_place});
      }
  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(AtHome, OneRankHasBarriersAndPreparesNothing) {
  const CollectiveRequest request{.ranks = gpus(1), .elements = 1000};
  RankBuffers buffers(driver_, request);

  on_ranks(1, [&](const Rank& rank) {
    const CollectiveCall call = call_of(request, buffers, 0);
    rank.collectives.prepare(call);
    rank.collectives.barrier(rank.stream);
    driver_.synchronize(rank.stream);
    EXPECT_TRUE(rank.collectives.stays_at_home(call));
    EXPECT_EQ(rank.collectives.kinds(), 0U);
  });
}

TEST_F(AtHome, CopiesAreWaitedFor) {
  const CollectiveRequest request{.ranks = gpus(1), .elements = 1000};
  RankBuffers buffers(driver_, request);
  buffers.fill();

  on_ranks(1, [&](const Rank& rank) {
    rank.collectives.run(call_of(request, buffers, 0), rank.stream);
    rank.collectives.synchronize();
    EXPECT_TRUE(buffers.right());
  });
}

TEST_F(AtHome, CopiesCanBeCapturedThoughNothingWasPrepared) {
  const CollectiveRequest request{.ranks = gpus(1), .elements = 1000};
  RankBuffers buffers(driver_, request);
  buffers.fill();
  Capturing capturing(driver_);

  on_ranks(1, capturing, [&](const Rank& rank) {
    rank.collectives.run(call_of(request, buffers, 0), rank.stream);
    driver_.synchronize(rank.stream);
  });

  EXPECT_TRUE(buffers.right());
}

// Bytes that no call of 0 elements may touch, and those of a call after it.
TEST_F(AtHome, CallsOfNoElementsDoNothingAndTheNextOneIsRight) {
  for (const Collective collective : all_collectives()) {
    SCOPED_TRACE(name_of(collective));
    CollectiveRequest request{.collective = collective, .ranks = gpus(4), .elements = 1000};
    RankBuffers buffers(driver_, request);
    buffers.fill();

    on_ranks(4, [&](const Rank& rank) {
      CollectiveCall nothing = call_of(request, buffers, rank.number);
      nothing.elements = 0;
      rank.collectives.run(nothing, rank.stream);
      nothing.input = nothing.output = {};  // as empty tensors have it
      rank.collectives.run(nothing, rank.stream);
      rank.collectives.prepare(nothing);
      rank.collectives.run(call_of(request, buffers, rank.number), rank.stream);
      rank.collectives.run(nothing, rank.stream);
      rank.collectives.barrier();
      driver_.synchronize(rank.stream);
    });

    EXPECT_TRUE(buffers.right());
  }
}

TEST_F(AtHome, CountsOfNothingForOthersAreCopiesOfARanksOwn) {
  for (const bool in_place : {false, true})
    expect_right({.collective = Collective::all_to_all_v,
                  .ranks = gpus(3),
                  .elements = 5,
                  .in_place = in_place,
                  .counts = {7, 0, 0, 0, 0, 0, 0, 0, 3}});
}

TEST_F(AtHome, CallsCanBeRepeated) {
  const CollectiveRequest request{
      .collective = Collective::all_gather, .ranks = gpus(1), .elements = 1000};
  RankBuffers buffers(driver_, request);
  buffers.fill();

  on_ranks(1, [&](const Rank& rank) {
    PersistentCall call(call_of(request, buffers, 0));
    for (int i = 0; i < 3; ++i) rank.collectives.run(call, rank.stream);
    driver_.synchronize(rank.stream);
  });

  EXPECT_TRUE(buffers.right());
}

// A call that cannot be done is refused before other ranks hear of it.
TEST_F(AtHome, RefusedCallsLeaveTheRanksAsTheyWere) {
  const CollectiveRequest request{.ranks = gpus(2), .elements = 1000};
  RankBuffers buffers(driver_, request);
  buffers.fill();

  on_ranks(2, [&](const Rank& rank) {
    CollectiveCall average = call_of(request, buffers, rank.number);
    average.reduction = {ReduceOperator::average, ElementType::int32};
    CollectiveCall truth = average, much = average;
    truth.reduction = {ReduceOperator::sum, ElementType::boolean};
    much.reduction = {}, much.elements = std::uint64_t{1} << 61;
    expect_invalid_argument([&] { rank.collectives.run(average, rank.stream); }, "averaged");
    expect_invalid_argument([&] { rank.collectives.prepare(average); }, "averaged");
    expect_invalid_argument([&] { rank.collectives.run(truth, rank.stream); }, "bool");
    expect_invalid_argument([&] { rank.collectives.prepare(much); }, "too many");
    rank.collectives.run(call_of(request, buffers, rank.number), rank.stream);
    rank.collectives.barrier();
    driver_.synchronize(rank.stream);
  });

  EXPECT_TRUE(buffers.right());
}

TEST_F(AtHome, TypesThatAreOnlyMovedAreMoved) {
  for (const ElementType type : moved_element_types())
    for (const Collective collective :
         {Collective::all_gather, Collective::all_to_all, Collective::broadcast}) {
      SCOPED_TRACE(testing::Message() << name_of(collective) << " of " << name_of(type));
      expect_right({.collective = collective,
                    .ranks = gpus(3),
                    .elements = 1001,
                    .reduction = {.type = type}});
    }
}

// Each kind is made again once others have taken its room, at all ranks alike.
TEST_F(AtHome, KindsOfCallsThatHaveNoRoomAreMadeAgain) {
  std::vector<CollectiveRequest> requests;
  std::vector<std::unique_ptr<RankBuffers>> buffers;
  for (std::uint64_t elements = 1000; elements < 1006; ++elements) {
    requests.push_back({.ranks = gpus(3), .elements = elements});
    buffers.push_back(std::make_unique<RankBuffers>(driver_, requests.back()));
    buffers.back()->fill();
  }

  on_ranks(3, [&](const Rank& rank) {
    rank.collectives.keep_at_most(30);  // four of one kernel for each rank
    std::vector<PersistentCall> calls;
    for (std::size_t i = 0; i < requests.size(); ++i)
      calls.emplace_back(call_of(requests[i], *buffers[i], rank.number));
    for (int round = 0; round < 3; ++round)
      for (PersistentCall& call : calls) {
        rank.collectives.run(call, rank.stream);
        rank.collectives.run(calls.front(), rank.stream);
      }
    EXPECT_EQ(rank.collectives.kinds(), 4U);
    rank.collectives.barrier();
    driver_.synchronize(rank.stream);
  });

  for (const auto& each : buffers) EXPECT_TRUE(each->right());
}

}  // namespace
}  // namespace polypath::test::at_home_test
