#pragma once
// The layer before a toy NCCL, whose ranks are threads of one process.

#include <gtest/gtest.h>

#include <barrier>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "collective/support/collective_call.h"
#include "collective/support/rank_buffers.h"
#include "machine/load_machine.h"
#include "nccl/layer.h"
#include "nccl/support/toy_nccl.h"
#include "support/layers.h"

namespace polypath::test::nccl_layer {

using nccl::Call;
using nccl::Comm;
using nccl::Fate;
using nccl::kSuccess;
using nccl::Layer;
using nccl::Operation;
using nccl::Stream;
using nccl::UniqueId;

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

  Comm joined(Layer& layer, const UniqueId& id, int rank) {
    Comm comm = nullptr;
    (void)layer.init(&comm, kRanks, {id.internal.data(), id.internal.size()}, rank, true,
                     [&] { return real_.CommInitRank(&comm, kRanks, id, rank); });
    return comm;
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

}  // namespace polypath::test::nccl_layer
