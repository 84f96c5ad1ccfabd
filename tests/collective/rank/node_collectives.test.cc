// Ranks that call collectives, each in a thread of its own, on one simulated machine: right, in
// place and not, whatever is called; and errors that all of them get.

#include "collective/rank/node_collectives.h"

#include <gmock/gmock.h>

#include <thread>

#include "collective/support/collective_call.h"
#include "collective/support/rank_buffers.h"
#include "collective/support/ranks.h"
#include "core/error.h"
#include "machine/load_machine.h"
#include "support/effort.h"
#include "support/errors.h"

namespace polypath::test::node_collectives_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

/// One rank's end, and its stream.
struct Rank {
  NodeCollectives& collectives;
  StreamHandle stream;
  int number;
};

class RankedCollectives : public testing::Test {
 protected:
  explicit RankedCollectives(const std::string& machine = "h200x4")
      : driver_(load_machine(machine)) {}

  static constexpr int kRanks = 4;

  /// Does it at all ranks at the same time, each with an end of its own; the last one may take the
  /// machine to be another one.
  template <class Action>
  void on_ranks(Action action, Seconds timeout = Seconds{20}, const Machine* last = nullptr) {
    auto ends = bootstrap_among_threads(kRanks);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < kRanks; ++rank)
      threads.emplace_back(
          [&, rank, end = std::move(ends[static_cast<std::size_t>(rank)])]() mutable {
            const PlaceId gpu = gpus_[static_cast<std::size_t>(rank)];
            CommunicatorOptions options;
            options.timeout = timeout;
            const bool differs = last != nullptr && rank == kRanks - 1;
            NodeCollectives collectives(driver_, differs ? *last : driver_.machine(),
                                        collective_settings(), gpu,
                                        std::make_unique<Communicator>(std::move(end), options));
            const StreamHandle stream = driver_.create_stream(gpu);
            action(Rank{collectives, stream, rank});
            driver_.destroy_stream(stream);
          });
  }

  CollectiveRequest request_of(Collective collective, std::uint64_t elements) const {
    return {.collective = collective, .ranks = gpus_, .elements = elements, .root = 1};
  }

  sim::SimDriver driver_;
  std::vector<PlaceId> gpus_ = first_gpus(driver_.machine(), kRanks);
};

// 1000 elements go by one kernel per GPU, 3 million by copies.
TEST_F(RankedCollectives, AreRightWhateverIsCalled) {
  for (const Collective collective : all_collectives())
    for (const std::uint64_t elements : {1000, 3'000'000})
      for (const bool in_place : {false, true}) {
        if (in_place && elements > 1000 && !is_long()) continue;
        SCOPED_TRACE(testing::Message() << name_of(collective) << " of " << elements
                                        << (in_place ? ", in place" : ""));
        CollectiveRequest request = request_of(collective, elements);
        request.in_place = in_place;
        RankBuffers buffers(driver_, request);
        buffers.fill();

        on_ranks([&](const Rank& rank) {
          rank.collectives.run(call_of(request, buffers, rank.number), rank.stream);
          rank.collectives.barrier();
          driver_.synchronize(rank.stream);
        });

        EXPECT_TRUE(buffers.right());
      }
  EXPECT_THAT(driver_.violations(), IsEmpty());
}

// What is called again, with other memory, in another order of ranks.
TEST_F(RankedCollectives, OfAKindThatIsKnownWaitForNobody) {
  const CollectiveRequest request = request_of(Collective::all_reduce, 1000);
  RankBuffers buffers(driver_, request);
  buffers.fill();
  std::atomic<int> enqueued = 0;

  on_ranks([&](const Rank& rank) {
    const CollectiveCall call = call_of(request, buffers, rank.number);
    rank.collectives.prepare(call);
    rank.collectives.barrier();
    while (rank.number > 0 && enqueued < rank.number) std::this_thread::yield();
    rank.collectives.run(call, rank.stream);
    ++enqueued;
    rank.collectives.barrier();
    driver_.synchronize(rank.stream);
    EXPECT_STREQ(rank.collectives.draft_of(call).algorithm->name, "oneshot");
  });

  EXPECT_TRUE(buffers.right());
}

TEST_F(RankedCollectives, ThatDifferAreAnErrorThatSaysWhoDiffers) {
  const CollectiveRequest request = request_of(Collective::all_reduce, 1000);
  RankBuffers buffers(driver_, request);
  buffers.fill();
  std::atomic<int> errors = 0;

  on_ranks([&](const Rank& rank) {
    CollectiveCall call = call_of(request, buffers, rank.number);
    try {
      rank.collectives.prepare(call);
      if (rank.number == 2) call.reduction.operation = ReduceOperator::maximum;
      rank.collectives.run(call, rank.stream);
      rank.collectives.barrier();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("ank 2"), HasSubstr("max"), HasSubstr("sum")));
      ++errors;
    }
  });

  EXPECT_EQ(errors, kRanks);
}

TEST_F(RankedCollectives, WithoutOneRankEndInAnErrorThatNamesIt) {
  const CollectiveRequest request = request_of(Collective::all_reduce, 3'000'000);
  RankBuffers buffers(driver_, request);
  buffers.fill();
  std::atomic<int> errors = 0;

  on_ranks(
      [&](const Rank& rank) {
        const CollectiveCall call = call_of(request, buffers, rank.number);
        rank.collectives.prepare(call);
        try {
          if (rank.number != 3) rank.collectives.run(call, rank.stream);
          for (;;) {
            rank.collectives.communicator().check();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::communicator) << error.what();
          EXPECT_THAT(error.what(), HasSubstr("ank 3"));
          ++errors;
        }
      },
      Seconds{2});

  EXPECT_EQ(errors, kRanks);
}

TEST_F(RankedCollectives, NeedMemory) {
  const CollectiveRequest request = request_of(Collective::all_reduce, 1000);
  RankBuffers buffers(driver_, request);

  on_ranks([&](const Rank& rank) {
    CollectiveCall call = call_of(request, buffers, rank.number);
    call.output = {};
    expect_invalid_argument([&] { rank.collectives.run(call, rank.stream); }, "allreduce", "0");
  });
}

// Rank i sends (i + j) % 3 elements to rank j.
TEST_F(RankedCollectives, SendBlocksOfDifferentLengths) {
  CollectiveRequest request = request_of(Collective::all_to_all_v, 1);
  for (int from = 0; from < kRanks; ++from)
    for (int to = 0; to < kRanks; ++to)
      request.counts.push_back(static_cast<std::uint64_t>((from + to) % 3) * 100'001);
  RankBuffers buffers(driver_, request);
  buffers.fill();

  on_ranks([&](const Rank& rank) {
    for (int call = 0; call < 2; ++call)
      rank.collectives.run(call_of(request, buffers, rank.number), rank.stream);
    rank.collectives.barrier();  // all is enqueued: what is simulated ends then
    driver_.synchronize(rank.stream);
  });

  EXPECT_TRUE(buffers.right());
}

TEST_F(RankedCollectives, SendFromOneToAnother) {
  const CollectiveRequest request = send_receive(request_of(Collective::all_to_all_v, 999), 3, 1);
  RankBuffers buffers(driver_, request);
  buffers.fill();

  on_ranks([&](const Rank& rank) {
    CollectiveCall call = call_of(request, buffers, rank.number);
    if (rank.number != 3) call.input = {};
    if (rank.number != 1) call.output = {};
    rank.collectives.run(call, rank.stream);
    rank.collectives.barrier();  // all is enqueued: what is simulated ends then
    driver_.synchronize(rank.stream);
  });

  EXPECT_TRUE(buffers.right());
}

// Long calls in rounds: three of 50 021 elements, the last of which is shorter, or parts of blocks.
class CollectivesInRounds : public RankedCollectives,
                            public testing::WithParamInterface<const char*> {
 protected:
  CollectivesInRounds() : RankedCollectives(GetParam()) {}

  CollectiveRequest long_request(Collective collective, bool in_place) const {
    CollectiveRequest request = request_of(collective, 50'021);
    request.in_place = in_place;
    if (collective != Collective::all_to_all_v) return request;
    request.elements = 3;
    request.counts = {0, 50'000, 1, 7, 50'000, 9, 0, 2, 1, 0, 0, 30'000, 7, 2, 30'000, 11};
    return request;
  }
  static Bytes round_of(const CollectiveRequest& request) {
    return {message_bytes(request).value / 3 + 1};
  }
};
INSTANTIATE_TEST_SUITE_P(Machines, CollectivesInRounds,
                         testing::Values("h200x4", "beluga", "nop2p4"));

TEST_P(CollectivesInRounds, AreRightByEachAlgorithm) {
  for (const Collective collective : all_collectives())
    for (const bool in_place : {false, true}) {
      const CollectiveRequest request = long_request(collective, in_place);
      RankBuffers buffers(driver_, request);
      for (const Algorithm& algorithm : algorithms()) {
        if (!algorithm.does(driver_.machine(), request)) continue;
        SCOPED_TRACE(testing::Message() << name_of(collective) << " by " << algorithm.name
                                        << (in_place ? ", in place" : ""));
        buffers.fill();

        std::atomic<int> refused = 0;
        on_ranks([&](const Rank& rank) {
          rank.collectives.choose_from(
              {.algorithms = {algorithm.name}, .at_once = round_of(request)});
          try {
            rank.collectives.run(call_of(request, buffers, rank.number), rank.stream);
          } catch (const RefusedByAll&) {
            ++refused;
          }
          rank.collectives.barrier();
          driver_.synchronize(rank.stream);
        });

        if (refused == 0) EXPECT_TRUE(buffers.right());
        else EXPECT_EQ(refused, kRanks);
      }
    }
  EXPECT_THAT(driver_.violations(), IsEmpty());
}

// Also where one rank's call is so short that it has no rounds.
TEST_P(CollectivesInRounds, ThatDifferAreAnErrorThatSaysWhoDiffers) {
  const CollectiveRequest request = long_request(Collective::all_reduce, false);
  RankBuffers buffers(driver_, request);
  for (const bool short_one : {false, true}) {
    std::atomic<int> errors = 0;

    on_ranks([&](const Rank& rank) {
      rank.collectives.choose_from({.at_once = round_of(request)});
      CollectiveCall call = call_of(request, buffers, rank.number);
      if (rank.number == 2) call.reduction.operation = ReduceOperator::maximum;
      if (rank.number == 2 && short_one) call.elements = 10;
      try {
        rank.collectives.run(call, rank.stream);
        rank.collectives.barrier();
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("ank 2"), HasSubstr("max"), HasSubstr("sum")));
        ++errors;
      }
    });

    EXPECT_EQ(errors, kRanks) << short_one;
  }
}

// 64 GiB, in a second if each rank made the program of all.
TEST_P(CollectivesInRounds, HaveProgramsOfOneRoundAndOfTheLast) {
  for (const Collective collective : all_collectives()) {
    if (collective == Collective::all_to_all_v) continue;
    const CollectiveRequest request =
        with_message(request_of(collective, 1), {Bytes{64_GiB}.value + 4096});
    SCOPED_TRACE(name_of(collective));

    on_ranks([&](const Rank& rank) {
      rank.collectives.prepare({.collective = collective,
                                .root = 1,
                                .elements = request.elements,
                                .input = Address{1},
                                .output = Address{2}});

      EXPECT_LE(rank.collectives.kinds(), 2U);
    });
  }
}

TEST_F(RankedCollectives, RefuseCountsThatAreNotTheSameEverywhere) {
  CollectiveRequest request = request_of(Collective::all_to_all_v, 10);
  request.counts.assign(kRanks * kRanks, 1);
  RankBuffers buffers(driver_, request);
  std::atomic<int> errors = 0;

  on_ranks([&](const Rank& rank) {
    CollectiveCall call = call_of(request, buffers, rank.number);
    if (rank.number == 2) call.counts[5] = 2;
    try {
      rank.collectives.barrier();  // all have made theirs
      rank.collectives.run(call, rank.stream);
      rank.collectives.barrier();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("counts"));
      ++errors;
    }
  });

  EXPECT_EQ(errors, kRanks);
}

// Each rank writes its number into the next one's memory, which that one reads after a barrier: the
// driver reports a race where nothing orders the two.
TEST_F(RankedCollectives, OrderStreamsByABarrier) {
  std::vector<Address> got, kept;
  for (const PlaceId gpu : gpus_) {
    got.push_back(driver_.allocate(gpu, 4_B));
    kept.push_back(driver_.allocate(gpu, 4_B));
  }

  on_ranks([&](const Rank& rank) {
    const auto own = static_cast<std::size_t>(rank.number);
    const std::size_t next = (own + 1) % kRanks;
    const Address number = driver_.allocate(gpus_[own], 4_B);
    *reinterpret_cast<int*>(number.value) = rank.number;
    rank.collectives.barrier(rank.stream);
    driver_.copy({.destination = got[next],
                  .destination_place = gpus_[next],
                  .source = number,
                  .source_place = gpus_[own],
                  .bytes = 4_B},
                 rank.stream);
    rank.collectives.barrier(rank.stream);
    driver_.copy({.destination = kept[own],
                  .destination_place = gpus_[own],
                  .source = got[own],
                  .source_place = gpus_[own],
                  .bytes = 4_B},
                 rank.stream);
    rank.collectives.barrier();  // all is enqueued: what is simulated ends then
    driver_.synchronize(rank.stream);
  });

  for (int rank = 0; rank < kRanks; ++rank) {
    const std::size_t next = static_cast<std::size_t>(rank + 1) % kRanks;
    EXPECT_EQ(*reinterpret_cast<int*>(kept[next].value), rank);
  }
  EXPECT_TRUE(driver_.violations().empty());
}

class RankedWithSeveralPaths : public RankedCollectives {
 protected:
  RankedWithSeveralPaths() : RankedCollectives("beluga") {}
};

// Each rank plans several paths with the numbers of its own machine.
TEST_F(RankedWithSeveralPaths, ThatWouldRunDifferentProgramsRunNone) {
  const CollectiveRequest request = request_of(Collective::all_reduce, 16'000'000);
  RankBuffers buffers(driver_, request);
  Machine other = driver_.machine();
  for (std::size_t i = 0; i < other.hops.size(); i += 2)
    other.hops[i].bandwidth = BytesPerSecond{other.hops[i].bandwidth.value / 2};
  std::atomic<int> errors = 0;

  on_ranks(
      [&](const Rank& rank) {
        rank.collectives.choose_from({.paths = PathChoice::several, .algorithms = {"ring"}});
        try {
          rank.collectives.prepare(call_of(request, buffers, rank.number));
        } catch (const Error& error) {
          EXPECT_THAT(error.what(), HasSubstr("different programs"));
          ++errors;
        }
      },
      Seconds{20}, &other);

  EXPECT_EQ(errors, kRanks);
}

TEST_F(RankedCollectives, HaveAGpuEach) {
  std::atomic<int> errors = 0;
  auto ends = bootstrap_among_threads(2);
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank] {
        try {
          NodeCollectives(
              driver_, driver_.machine(), collective_settings(), gpus_[1],
              std::make_unique<Communicator>(std::move(ends[static_cast<std::size_t>(rank)])));
        } catch (const Error& error) {
          EXPECT_THAT(error.what(), HasSubstr("gpu1"));
          ++errors;
        }
      });
  }

  EXPECT_EQ(errors, 2);
}

}  // namespace
}  // namespace polypath::test::node_collectives_test
