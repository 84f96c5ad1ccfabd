// Ranks of a toy NCCL, each a thread: what is ours and what stays NCCL's, and that results are
// right either way.

#include "nccl/layer.h"

#include <gmock/gmock.h>

#include <atomic>
#include <barrier>
#include <cstring>
#include <latch>
#include <thread>

#include "collective/support/collective_call.h"
#include "collective/support/rank_buffers.h"
#include "machine/load_machine.h"
#include "nccl/support/nccl_layer.h"
#include "nccl/support/own_cache.h"
#include "nccl/support/toy_nccl.h"
#include "support/layers.h"

namespace polypath::test::nccl_layer_test {
namespace {

using nccl::Call;
using nccl::Comm;
using nccl::Fate;
using nccl::kRemoteError;
using nccl::kSuccess;
using nccl::Layer;
using nccl::Operation;
using nccl::Result;
using nccl::Stream;
using nccl::UniqueId;
using nccl_layer::NcclLayer;
using nccl_layer::Rank;
using testing::HasSubstr;
using testing::IsEmpty;

struct Served {
  Operation operation;
  Collective collective;
};
constexpr std::array kServed = {Served{Operation::all_reduce, Collective::all_reduce},
                                Served{Operation::reduce, Collective::reduce},
                                Served{Operation::reduce_scatter, Collective::reduce_scatter},
                                Served{Operation::all_gather, Collective::all_gather},
                                Served{Operation::all_to_all, Collective::all_to_all}};

TEST_F(NcclLayer, WhatIsFasterIsOursAndRight) {
  for (const Served& each : kServed)
    for (const std::uint64_t elements : {1000, 100'000}) {
      SCOPED_TRACE(testing::Message() << name_of(each.operation) << " of " << elements);
      const CollectiveRequest request = request_of(each.collective, elements);
      RankBuffers buffers(toy_.driver(), request);
      buffers.fill();
      const std::uint64_t before = count(Fate::ours);

      on_ranks([&](const Rank& rank) {
        EXPECT_EQ(layer_.collective(call_of(rank, each.operation, request, buffers)), kSuccess);
      });

      EXPECT_TRUE(buffers.right());
      EXPECT_EQ(toy_.take_calls(), 0);
      EXPECT_EQ(count(Fate::ours), before + kRanks);
    }
  EXPECT_THAT(toy_.driver().violations(), IsEmpty());
}

TEST_F(NcclLayer, WhatNcclDoesFasterIsItsOwn) {
  toy_.has_instant_broadcasts = true;
  const CollectiveRequest request = request_of(Collective::broadcast, 1000);
  RankBuffers buffers(toy_.driver(), request);
  buffers.fill();

  on_ranks([&](const Rank& rank) {
    EXPECT_EQ(layer_.collective(call_of(rank, Operation::broadcast, request, buffers)), kSuccess);
  });

  EXPECT_EQ(toy_.take_calls(), kRanks);
  EXPECT_EQ(count(Fate::faster), kRanks);
}

TEST_F(NcclLayer, WithARankWithoutPolypathAllCallsAreNccls) {
  const CollectiveRequest request = request_of(Collective::all_reduce, 1000);
  RankBuffers buffers(toy_.driver(), request);
  buffers.fill();

  on_ranks(
      [&](const Rank& rank) {
        const Call call = call_of(rank, Operation::all_reduce, request, buffers);
        EXPECT_EQ(rank.number == kRanks - 1 ? make(real_, call) : layer_.collective(call),
                  kSuccess);
      },
      kRanks - 1);

  EXPECT_TRUE(buffers.right());
  EXPECT_EQ(toy_.take_calls(), kRanks);
  EXPECT_EQ(count(Fate::elsewhere), kRanks - 1);
}

TEST_F(NcclLayer, CommunicatorsThatAreNotWaitedForAreNccls) {
  const CollectiveRequest request = request_of(Collective::all_reduce, 1000);
  RankBuffers buffers(toy_.driver(), request);
  buffers.fill();

  on_ranks(
      [&](const Rank& rank) {
        (void)layer_.collective(call_of(rank, Operation::all_reduce, request, buffers));
      },
      kRanks, false);

  EXPECT_TRUE(buffers.right());
  EXPECT_EQ(toy_.take_calls(), kRanks);
}

TEST_F(NcclLayer, WhatWeDoNotHaveIsNccls) {
  on_ranks([&](const Rank& rank) {
    Call call{.operation = Operation::all_reduce,
              .count = 5,
              .type = nccl::kFloat32,
              .reduction = 7,  // one that the program has made
              .comm = rank.comm,
              .stream = rank.native};
    (void)layer_.collective(call);
    call.type = 99, call.reduction = nccl::kSum;
    (void)layer_.collective(call);
    call.operation = Operation::send, call.type = nccl::kFloat32;
    (void)layer_.collective(call);
    call.operation = Operation::all_reduce, call.count = 0;
    (void)layer_.collective(call);
  });

  EXPECT_EQ(toy_.take_calls(), 4 * kRanks);
  EXPECT_EQ(count(Fate::other_kind), 4 * kRanks);
}

// Small ones are NCCL's, which makes one kernel of them.
TEST_F(NcclLayer, CallsOfAGroupAreOursOrNcclsTogether) {
  for (const std::uint64_t elements : {1000, 2'000'000}) {
    const CollectiveRequest sum = request_of(Collective::all_reduce, elements);
    const CollectiveRequest all = request_of(Collective::all_gather, elements);
    RankBuffers sums(toy_.driver(), sum), alls(toy_.driver(), all);
    sums.fill(), alls.fill();

    on_ranks([&](const Rank& rank) {
      EXPECT_EQ(layer_.group_start(), kSuccess);
      EXPECT_EQ(layer_.collective(call_of(rank, Operation::all_reduce, sum, sums)), kSuccess);
      EXPECT_EQ(layer_.collective(call_of(rank, Operation::all_gather, all, alls)), kSuccess);
      EXPECT_EQ(layer_.group_end(), kSuccess);
    });

    EXPECT_TRUE(sums.right());
    EXPECT_TRUE(alls.right());
    EXPECT_EQ(toy_.take_calls(), elements == 1000 ? 2 * kRanks : 0);
  }
}

TEST_F(NcclLayer, AGroupWithOneCollectiveThatIsNcclsIsNcclsAsAWhole) {
  const CollectiveRequest request = request_of(Collective::all_reduce, 2'000'000);
  RankBuffers buffers(toy_.driver(), request);
  buffers.fill();

  on_ranks([&](const Rank& rank) {
    (void)layer_.group_start();
    (void)layer_.group_start();
    Call call = call_of(rank, Operation::all_reduce, request, buffers);
    (void)layer_.collective(call);
    (void)layer_.group_end();
    call.reduction = 7;  // one that the program has made
    (void)layer_.collective(call);
    (void)layer_.group_end();
  });

  EXPECT_TRUE(buffers.right());
  EXPECT_EQ(count(Fate::in_group), kRanks);
  EXPECT_EQ(count(Fate::ours), 0);
}

// What comes behind it is NCCL's, too, although it would be ours alone.
TEST_F(NcclLayer, ACollectiveThatIsNcclsDoesNotWaitForTheEndOfItsGroup) {
  const CollectiveRequest request = request_of(Collective::all_reduce, 2'000'000);
  RankBuffers buffers(toy_.driver(), request);
  buffers.fill();
  std::latch all_have_called(kRanks);

  on_ranks([&](const Rank& rank) {
    (void)layer_.group_start();
    Call call = call_of(rank, Operation::all_reduce, request, buffers);
    call.reduction = 7;  // one that the program has made
    (void)layer_.collective(call);
    call.reduction = nccl::kSum;
    (void)layer_.collective(call);
    all_have_called.arrive_and_wait();
    EXPECT_EQ(count(Fate::other_kind), kRanks);
    EXPECT_EQ(count(Fate::in_group), kRanks);
    (void)layer_.group_end();
  });

  EXPECT_TRUE(buffers.right());
  EXPECT_EQ(count(Fate::ours), 0);
}

// Ranks have other messages than each other, or none, and the same collectives: whose those are
// must not follow from messages.
TEST_F(NcclLayer, MessagesOfSomeRanksDoNotDecideWhoseACollectiveOfAllIs) {
  const CollectiveRequest request = request_of(Collective::all_reduce, 1000);
  RankBuffers buffers(toy_.driver(), request);
  buffers.fill();

  on_ranks([&](const Rank& rank) {
    (void)layer_.group_start();
    Call call = call_of(rank, Operation::all_reduce, request, buffers);
    (void)layer_.collective(call);
    call.operation = Operation::send, call.other = 3;
    if (rank.number == 0) (void)layer_.collective(call);
    (void)layer_.group_end();
  });

  EXPECT_TRUE(buffers.right());
  EXPECT_EQ(count(Fate::ours), kRanks);
  EXPECT_EQ(count(Fate::other_kind), 1);
}

// Earlier work in any of the streams comes before all calls of the group, later work behind them.
TEST_F(NcclLayer, StreamsOfAGroupAreInOrderWithEachOther) {
  const CollectiveRequest request = request_of(Collective::all_reduce, 2'000'000);
  RankBuffers first(toy_.driver(), request), second(toy_.driver(), request);
  first.fill(), second.fill();

  on_ranks([&](const Rank& rank) {
    sim::SimDriver& driver = toy_.driver();
    const StreamHandle other = driver.create_stream(gpus_[index(rank.number)]);
    const Address copy = driver.allocate(gpus_[index(rank.number)], 4_KiB);
    (void)layer_.group_start();
    const Call in_first = call_of(rank, Operation::all_reduce, request, first);
    (void)layer_.collective(in_first);
    Call call = call_of(rank, Operation::all_reduce, request, second);
    call.stream = reinterpret_cast<Stream>(other.value);
    (void)layer_.collective(call);
    (void)layer_.group_end();
    const Address result{reinterpret_cast<std::uintptr_t>(in_first.receive)};
    driver.copy_native({.destination = copy, .source = result, .bytes = 4_KiB}, other);
    made_.arrive_and_wait();
    driver.synchronize(other);
    driver.synchronize(rank.stream);
    driver.free(copy);
    driver.destroy_stream(other);
  });

  EXPECT_TRUE(first.right());
  EXPECT_TRUE(second.right());
  EXPECT_EQ(count(Fate::ours), 2 * kRanks);
  EXPECT_THAT(toy_.driver().violations(), IsEmpty());
}

TEST_F(NcclLayer, PartsOfACommunicatorAreServedToo) {
  std::vector<PlaceId> evens{gpus_[0], gpus_[2]}, odds{gpus_[1], gpus_[3]};
  CollectiveRequest even = request_of(Collective::all_reduce, 1000), odd = even;
  even.ranks = evens, odd.ranks = odds;
  RankBuffers of_even(toy_.driver(), even), of_odd(toy_.driver(), odd);
  of_even.fill(), of_odd.fill();

  on_ranks([&](const Rank& rank) {
    Comm part = nullptr;
    const int color = rank.number % 2;
    EXPECT_EQ(layer_.split(rank.comm, color, 0, &part, std::nullopt, nullptr), kSuccess);
    const Rank member{rank.number / 2, part, rank.stream, rank.native};
    EXPECT_EQ(layer_.collective(call_of(member, Operation::all_reduce, color == 0 ? even : odd,
                                        color == 0 ? of_even : of_odd)),
              kSuccess);
    made_.arrive_and_wait();
    toy_.driver().synchronize(rank.stream);
    EXPECT_EQ(layer_.destroy(part), kSuccess);
  });

  EXPECT_TRUE(of_even.right());
  EXPECT_TRUE(of_odd.right());
  EXPECT_EQ(count(Fate::ours), kRanks);
}

TEST_F(NcclLayer, ASimulatedGroupDoesNothingAndTheNextCallIsMade) {
  const CollectiveRequest request = request_of(Collective::all_reduce, 1000);
  RankBuffers buffers(toy_.driver(), request);
  buffers.fill();

  on_ranks([&](const Rank& rank) {
    const Call call = call_of(rank, Operation::all_reduce, request, buffers);
    (void)layer_.group_start();
    (void)layer_.collective(call);
    EXPECT_EQ(layer_.simulate_end(nullptr), kSuccess);
    EXPECT_EQ(layer_.collective(call), kSuccess);
  });

  EXPECT_TRUE(buffers.right());
  EXPECT_EQ(count(Fate::ours), kRanks);
}

// As nccl-tests do with several GPUs for each thread.
TEST_F(NcclLayer, OneThreadMayHaveAllRanks) {
  const CollectiveRequest request = request_of(Collective::all_reduce, 1000);
  RankBuffers buffers(toy_.driver(), request);
  buffers.fill();
  std::vector<Comm> comms(kRanks);

  EXPECT_EQ(layer_.init_all(comms.data(), kRanks, nullptr), kSuccess);
  (void)toy_.take_calls();
  std::vector<StreamHandle> streams;
  (void)layer_.group_start();
  for (int rank = 0; rank < kRanks; ++rank) {
    streams.push_back(toy_.driver().create_stream(gpus_[index(rank)]));
    (void)layer_.collective(call_of(
        {rank, comms[index(rank)], streams.back(), reinterpret_cast<Stream>(streams.back().value)},
        Operation::all_reduce, request, buffers));
  }
  (void)layer_.group_end();
  for (const StreamHandle stream : streams) toy_.driver().synchronize(stream);
  for (const Comm comm : comms) EXPECT_EQ(layer_.destroy(comm), kSuccess);
  for (const StreamHandle stream : streams) toy_.driver().destroy_stream(stream);

  EXPECT_TRUE(buffers.right());
  EXPECT_EQ(count(Fate::ours), kRanks);
}

// As two programs, one after the other.
TEST_F(NcclLayer, WhatWasMeasuredIsKeptForTheNextProgram) {
  const OwnCache cache;
  around_.keeps_choices = true;
  on_ranks([](const Rank&) {});
  const int measured = toy_.take_calls() + compared_;

  Layer next(real_, [this](GpusOf) -> const nccl::Surroundings& { return around_; },
             {.most_measured = 512_KiB});
  const UniqueId id = toy_.unique_id();
  on_threads([&](int rank) {
    Comm comm = nullptr;
    (void)next.init(&comm, kRanks, {id.internal.data(), id.internal.size()}, rank, true,
                    [&] { return real_.CommInitRank(&comm, kRanks, id, rank); });
    made_.arrive_and_wait();
    EXPECT_EQ(next.destroy(comm), kSuccess);
  });

  EXPECT_GT(measured, 0);
  EXPECT_EQ(toy_.take_calls(), 0);
}

}  // namespace
}  // namespace polypath::test::nccl_layer_test
