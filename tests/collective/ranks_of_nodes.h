#pragma once
// Ranks of several nodes, each a thread of its own: GPUs of one simulated machine, told that they
// are on several nodes, with messages over TCP.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collective/internode/internode_collectives.h"
#include "collective/support/collective_call.h"
#include "collective/support/rank_buffers.h"
#include "collective/support/ranks.h"
#include "communicator/together.h"
#include "core/error.h"
#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test {

/// How many nodes, and ranks of each.
struct Layout {
  int nodes;
  int locals;
  [[nodiscard]] int size() const { return nodes * locals; }
};

struct Rank {
  InternodeCollectives& collectives;
  StreamHandle stream;
  int number;
};

class RanksOfNodes : public testing::Test {
 protected:
  /// Does it at all ranks at the same time; the message of each one's error, or "".
  template <class Action>
  std::vector<std::string> on_ranks(Layout layout, Action action, Seconds timeout = kLong) {
    auto ends = bootstrap_among_threads(layout.size());
    return in_threads(layout.size(), [&](int rank) {
      auto& end = ends[static_cast<std::size_t>(rank)];
      auto transport = transport_by_tcp(*end, "127.0.0.1", kLong);
      auto communicator = std::make_unique<Communicator>(
          std::move(end),
          CommunicatorOptions{.node = std::to_string(rank / layout.locals), .timeout = timeout});
      const PlaceId gpu = gpus_[static_cast<std::size_t>(rank)];
      InternodeCollectives collectives(driver_, driver_.machine(), collective_settings(), gpu,
                                       std::move(communicator),
                                       {.transport = std::move(transport), .piece = piece_});
      const StreamHandle stream = driver_.create_stream(gpu);
      action(Rank{collectives, stream, rank});
      driver_.destroy_stream(stream);
    });
  }

  /// Time passes on a simulated machine when it is asked for.
  static void wait(const Rank& rank) {
    ASSERT_TRUE(soon([&] { return rank.collectives.is_done(); }));
    rank.collectives.communicator().check();
  }

  [[nodiscard]] CollectiveRequest request_of(Layout layout, std::uint64_t elements) const {
    return {.collective = Collective::all_reduce,
            .ranks = {gpus_.begin(), gpus_.begin() + layout.size()},
            .elements = elements,
            .root = 1};
  }

  /// All of it, one after another, by the same ranks.
  void expect_right(Layout layout, const std::vector<CollectiveRequest>& requests) {
    std::vector<std::unique_ptr<RankBuffers>> buffers;
    for (const CollectiveRequest& request : requests) {
      // At addresses that are multiples of an element and of nothing else.
      buffers.push_back(std::make_unique<RankBuffers>(driver_, request, request.element()));
      buffers.back()->fill();
    }

    const auto errors = on_ranks(layout, [&](const Rank& rank) {
      for (std::size_t i = 0; i < requests.size(); ++i)
        rank.collectives.run(call_of(requests[i], *buffers[i], rank.number), rank.stream);
      wait(rank);
    });

    expect_no_errors(errors);
    for (std::size_t i = 0; i < requests.size(); ++i)
      EXPECT_TRUE(buffers[i]->right())
          << layout.nodes << " x " << layout.locals << " " << in_words(requests[i]);
  }

  static std::string in_words(const CollectiveRequest& request) {
    return fmt::format("{} of {} {} {}, root {}{}", name_of(request.collective), request.elements,
                       name_of(request.reduction.type), name_of(request.reduction.operation),
                       request.root, request.in_place ? ", in place" : "");
  }

  sim::SimDriver driver_{load_machine("h200x8")};
  std::vector<PlaceId> gpus_ = first_gpus(driver_.machine(), 8);
  Bytes piece_ = 1_MiB;
};

}  // namespace polypath::test
