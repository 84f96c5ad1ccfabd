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
using testing::HasSubstr;
using testing::IsEmpty;

struct Rank {
  int number;
  Comm comm;
  StreamHandle stream;
  Stream native;
};

class NcclLayer : public testing::Test {
 protected:
  static constexpr int kRanks = 4;

  NcclLayer() { (void)toy_.take_calls(); }

  /// A communicator of all ranks, of which those from `without` on are not under Polypath.
  template <class Action>
  void on_ranks(Action action, int without = kRanks, bool waits = true) {
    const UniqueId id = toy_.unique_id();
    on_threads([&](int rank) {
      Comm comm = nullptr;
      const auto make = [&] { return real_.CommInitRank(&comm, kRanks, id, rank); };
      const std::string name(id.internal.data(), id.internal.size());
      if (rank < without) EXPECT_EQ(layer_.init(&comm, kRanks, name, rank, waits, make), kSuccess);
      else make();
      made_.arrive_and_wait();
      if (rank == 0) compared_ = toy_.take_calls();
      if (waits && without == kRanks) EXPECT_EQ(layer_.why_not(), "");
      made_.arrive_and_wait();
      const StreamHandle stream = toy_.driver().create_stream(gpus_[index(rank)]);
      action(Rank{rank, comm, stream, reinterpret_cast<Stream>(stream.value)});
      made_.arrive_and_wait();  // all has been enqueued: the simulator knows what is waited for
      toy_.driver().synchronize(stream);
      made_.arrive_and_wait();
      if (rank < without) EXPECT_EQ(layer_.destroy(comm), kSuccess);
      else real_.CommDestroy(comm);
      toy_.driver().destroy_stream(stream);
    });
  }

  template <class Action>
  static void on_threads(Action action) {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < kRanks; ++rank) threads.emplace_back([&, rank] { action(rank); });
  }

  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  CollectiveRequest request_of(Collective collective, std::uint64_t elements) const {
    return {.collective = collective, .ranks = gpus_, .elements = elements, .root = 1};
  }

  /// Of float32 sums.
  static Call call_of(const Rank& rank, Operation operation, const CollectiveRequest& request,
                      const RankBuffers& buffers) {
    const CollectiveCall ours = test::call_of(request, buffers, rank.number);
    const Address output =
        operation == Operation::broadcast && rank.number == request.root ? ours.input : ours.output;
    return {.operation = operation,
            .send = reinterpret_cast<const void*>(ours.input.value),
            .receive = reinterpret_cast<void*>(output.value),
            .count = request.elements,
            .type = nccl::kFloat32,
            .other = request.root,
            .comm = rank.comm,
            .stream = rank.native};
  }

  /// How many calls went that way.
  std::uint64_t count(Fate fate) const {
    std::uint64_t calls = 0;
    for (const nccl::CountedCalls& each : layer_.counts().all())
      if (each.fate == fate) calls += each.calls;
    return calls;
  }

  ToyNccl toy_{load_machine("h200x4")};
  nccl::Surroundings around_ = toy_.surroundings();
  nccl::Functions real_ = ToyNccl::functions();
  Layer layer_{real_,
               [this](GpusOf) -> const nccl::Surroundings& { return around_; },
               {.most_measured = 512_KiB}};
  std::vector<PlaceId> gpus_ = toy_.driver().machine().places_of(PlaceKind::gpu);
  std::barrier<> made_{kRanks};
  int compared_ = 0;  ///< calls of the toy's when communicators were made last
};

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

// Rank 0 aborts in place of a call that the others have made.
TEST_F(NcclLayer, AnAbortOfOneRankIsAnAsynchronousErrorOfAll) {
  const CollectiveRequest request = request_of(Collective::all_reduce, 1000);
  RankBuffers buffers(toy_.driver(), request);
  buffers.fill();
  std::atomic<int> errors = 0;
  const UniqueId id = toy_.unique_id();

  on_threads([&](int rank) {
    Comm comm = nullptr;
    (void)layer_.init(&comm, kRanks, {id.internal.data(), id.internal.size()}, rank, true,
                      [&] { return real_.CommInitRank(&comm, kRanks, id, rank); });
    const StreamHandle stream = toy_.driver().create_stream(gpus_[index(rank)]);
    const Rank here{rank, comm, stream, reinterpret_cast<Stream>(stream.value)};
    Result error = kSuccess;
    EXPECT_EQ(layer_.async_error(comm, &error), kSuccess);
    EXPECT_EQ(error, kSuccess);
    if (rank != 0)
      EXPECT_EQ(layer_.collective(call_of(here, Operation::all_reduce, request, buffers)),
                kSuccess);
    made_.arrive_and_wait();
    if (rank == 0) EXPECT_EQ(layer_.abort(comm), kSuccess);
    while (rank != 0 && error == kSuccess) (void)layer_.async_error(comm, &error);
    errors += error == kRemoteError ? 1 : 0;
    if (rank != 0) EXPECT_THAT(layer_.last_error(comm), HasSubstr("Rank 0 has "));
    if (rank != 0) EXPECT_EQ(layer_.abort(comm), kSuccess);
    toy_.driver().destroy_stream(stream);
  });

  EXPECT_EQ(errors, kRanks - 1);
}

// The driver cannot say whether a rank's work is over.
TEST_F(NcclLayer, AnAbortIsOneThoughTheDriverFails) {
  const CollectiveRequest request = request_of(Collective::all_reduce, 1000);
  RankBuffers buffers(toy_.driver(), request);
  buffers.fill();
  const UniqueId id = toy_.unique_id();

  on_threads([&](int rank) {
    Comm comm = nullptr;
    (void)layer_.init(&comm, kRanks, {id.internal.data(), id.internal.size()}, rank, true,
                      [&] { return real_.CommInitRank(&comm, kRanks, id, rank); });
    const StreamHandle stream = toy_.driver().create_stream(gpus_[index(rank)]);
    const Rank here{rank, comm, stream, reinterpret_cast<Stream>(stream.value)};
    (void)layer_.collective(call_of(here, Operation::all_reduce, request, buffers));
    made_.arrive_and_wait();
    if (rank == 0) toy_.driver().fail_from(sim::Call::is_done, 1);
    made_.arrive_and_wait();

    EXPECT_EQ(layer_.abort(comm), kSuccess);

    made_.arrive_and_wait();
    if (rank == 0) toy_.driver().clear_faults();
    made_.arrive_and_wait();
    toy_.driver().destroy_stream(stream);
  });
}

sim::SimDriver* driver_at_aborts = nullptr;
std::atomic<int> freed_at_aborts = 0;

// The driver may wait for NCCL's kernels when memory is freed, and these for NCCL's abort.
TEST_F(NcclLayer, AnAbortIsNcclsBeforeMemoryIsGivenBack) {
  driver_at_aborts = &toy_.driver();
  nccl::Functions real = ToyNccl::functions();
  real.CommAbort = [](Comm comm) {
    freed_at_aborts =
        driver_at_aborts->uses(sim::Call::free) + driver_at_aborts->uses(sim::Call::release_import);
    return ToyNccl::functions().CommAbort(comm);
  };
  Layer layer(real, [this](GpusOf) -> const nccl::Surroundings& { return around_; },
              {.most_measured = 512_KiB});
  const UniqueId id = toy_.unique_id();

  on_threads([&](int rank) {
    Comm comm = nullptr;
    (void)layer.init(&comm, kRanks, {id.internal.data(), id.internal.size()}, rank, true,
                     [&] { return real_.CommInitRank(&comm, kRanks, id, rank); });
    made_.arrive_and_wait();
    const auto given_back = [&] {
      return toy_.driver().uses(sim::Call::free) + toy_.driver().uses(sim::Call::release_import);
    };
    const int before = given_back();
    made_.arrive_and_wait();
    if (rank == 0) {
      EXPECT_EQ(layer.abort(comm), kSuccess);
      EXPECT_EQ(freed_at_aborts, before);
      EXPECT_GT(given_back(), before);
    }
    made_.arrive_and_wait();
    if (rank != 0) EXPECT_EQ(layer.abort(comm), kSuccess);
  });
}

}  // namespace
}  // namespace polypath::test::nccl_layer_test
