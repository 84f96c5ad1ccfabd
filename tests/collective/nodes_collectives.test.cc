// Ranks of several nodes that call collectives, each in a thread of its own: GPUs of one simulated
// machine, told that they are on several nodes, with messages over TCP.

#include "collective/nodes_collectives.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "collective/reference.h"
#include "communicator/together.h"
#include "core/error.h"
#include "machine/load_machine.h"
#include "support/errors.h"
#include "support/rank_buffers.h"
#include "support/ranks.h"

namespace polypath::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

/// How many nodes, and ranks of each.
struct Layout {
  int nodes;
  int locals;
  [[nodiscard]] int size() const { return nodes * locals; }
};

struct Rank {
  NodesCollectives& collectives;
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
      NodesCollectives collectives(driver_, driver_.machine(), collective_settings(), gpu,
                                   std::move(communicator),
                                   {.transport = std::move(transport), .piece = piece_});
      const StreamHandle stream = driver_.create_stream(gpu);
      action(Rank{collectives, stream, rank});
      driver_.destroy_stream(stream);
    });
  }

  /// Time passes on a simulated machine as somebody asks.
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

  /// The call of a rank on these memories.
  static CollectiveCall call_of(const CollectiveRequest& request, const RankBuffers& buffers,
                                int rank) {
    const auto number = static_cast<std::size_t>(rank);
    const Address memory = buffers.addresses()[number];
    CollectiveCall call{.collective = request.collective,
                        .reduction = request.reduction,
                        .root = request.root,
                        .elements = request.elements,
                        .input = memory,
                        .output = memory,
                        .in_place = request.in_place};
    const Bytes own = request.part() * static_cast<std::uint64_t>(rank);
    if (!request.in_place) call.output = buffers.addresses()[number + request.ranks.size()];
    else if (request.collective == Collective::all_gather) call.input = memory + own;
    else if (request.collective == Collective::reduce_scatter) call.output = memory + own;
    return call;
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

constexpr Layout kLayouts[] = {{2, 1}, {2, 2}, {3, 1}, {2, 3}, {3, 2}, {4, 2}};

constexpr Collective kOthers[] = {Collective::reduce_scatter, Collective::reduce,
                                  Collective::all_gather, Collective::broadcast,
                                  Collective::all_to_all};

// Every rank is the root once. A message is several pieces, or less than one.
TEST_F(RanksOfNodes, AreRightWhateverIsCalled) {
  piece_ = 2_KiB;

  for (const Layout layout : kLayouts) {
    std::vector<CollectiveRequest> requests;
    for (const Collective collective : kOthers)
      for (const std::uint64_t elements : {1, 777})
        for (const bool in_place : {false, true})
          for (int root = 0; root < (has_root(collective) ? layout.size() : 1); ++root) {
            requests.push_back(request_of(layout, elements));
            requests.back().collective = collective;
            requests.back().in_place = in_place;
            requests.back().root = root;
          }
    expect_right(layout, requests);
  }

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

// Fewer elements than ranks, odd counts, and several pieces of which the last one is smaller.
TEST_F(RanksOfNodes, AreRightWhateverTheirNumberAndTheSize) {
  piece_ = 4_KiB;

  for (const Layout layout : kLayouts) {
    std::vector<CollectiveRequest> requests;
    for (const std::uint64_t elements : {1, 5, 1000, 10'007})
      for (const bool in_place : {false, true}) {
        requests.push_back(request_of(layout, elements));
        requests.back().in_place = in_place;
      }
    expect_right(layout, requests);
  }

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(RanksOfNodes, ReduceAllTypesByAllOperations) {
  const Layout layout{3, 2};
  piece_ = 1_KiB;
  std::vector<CollectiveRequest> requests;
  for (const ElementType type : all_element_types())
    for (const ReduceOperator operation : all_reduce_operators())
      if (can_reduce(operation, type)) {
        requests.push_back(request_of(layout, 1003));
        requests.back().reduction = {.operation = operation, .type = type};
      }

  expect_right(layout, requests);

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

// One after another in one stream and then in another one, of other kinds and sizes in between.
TEST_F(RanksOfNodes, CallOneAfterAnotherWithoutWaiting) {
  const Layout layout{2, 2};
  piece_ = 2_KiB;
  const CollectiveRequest request = request_of(layout, 5001), small = request_of(layout, 3);
  RankBuffers buffers(driver_, request), others(driver_, small);
  buffers.fill(), others.fill();

  expect_no_errors(on_ranks(layout, [&](const Rank& rank) {
    const StreamHandle second = driver_.create_stream(gpus_[static_cast<std::size_t>(rank.number)]);
    for (int i = 0; i < 5; ++i) {
      rank.collectives.run(call_of(request, buffers, rank.number), rank.stream);
      rank.collectives.run(call_of(small, others, rank.number), i % 2 == 0 ? second : rank.stream);
      rank.collectives.barrier(second);
    }
    wait(rank);
    driver_.destroy_stream(second);
  }));

  EXPECT_TRUE(buffers.right());
  EXPECT_TRUE(others.right());
  EXPECT_THAT(driver_.violations(), IsEmpty());
}

// In float32 (2^24 - 2^24) + 1 = 1 and 2^24 + (-2^24 + 1) = 1, but (2^24 + 1) - 2^24 = 0: 2^24 + 1
// is rounded to 2^24. So nodes with 2^24, 1 and -2^24 have 0 in their order, and 1 where the
// second or the third one begins.
TEST_F(RanksOfNodes, AddNodesUpInTheirOrderWhateverTheSize) {
  const Layout layout{3, 1};
  piece_ = 4_KiB;
  const float values[] = {16'777'216, 1, -16'777'216};
  for (const std::uint64_t elements : {1, 3, 4096}) {
    const CollectiveRequest request = request_of(layout, elements);
    RankBuffers buffers(driver_, request);
    buffers.fill();
    for (std::size_t rank = 0; rank < 3; ++rank)
      std::fill_n(reinterpret_cast<float*>(buffers.addresses()[rank].value), elements,
                  values[rank]);

    expect_no_errors(on_ranks(layout, [&](const Rank& rank) {
      rank.collectives.run(call_of(request, buffers, rank.number), rank.stream);
      wait(rank);
    }));

    for (int rank = 0; rank < 3; ++rank) {
      const auto* const output = reinterpret_cast<const float*>(buffers.output(rank));
      EXPECT_THAT(std::vector<float>(output, output + elements), Each(0.0F));
    }
  }
}

TEST_F(RanksOfNodes, ThatCallSomethingElseAreAnErrorThatSaysWho) {
  const Layout layout{2, 2};
  const CollectiveRequest request = request_of(layout, 1000);
  RankBuffers buffers(driver_, request);
  buffers.fill();

  const auto errors = on_ranks(layout, [&](const Rank& rank) {
    CollectiveCall call = call_of(request, buffers, rank.number);
    if (rank.number >= 2) call.reduction.operation = ReduceOperator::maximum;
    rank.collectives.run(call, rank.stream);
    (void)awaited_verdict(rank.collectives.communicator());
    rank.collectives.communicator().check();
  });

  EXPECT_THAT(errors, Each(AllOf(HasSubstr("calls allreduce of 1000 float32 (sum)"),
                                 HasSubstr("calls allreduce of 1000 float32 (max)"))));
}

// By a ring of copies: a simulated kernel that waits for messages never ends without them.
TEST_F(RanksOfNodes, WithoutOneOfThemEndInAnErrorThatNamesIt) {
  const Layout layout{2, 2};
  piece_ = 8_MiB;
  const CollectiveRequest request = request_of(layout, 3'000'000);
  RankBuffers buffers(driver_, request);
  buffers.fill();
  std::vector<std::string> said(4);

  const auto errors = on_ranks(
      layout,
      [&](const Rank& rank) {
        const CollectiveCall call = call_of(request, buffers, rank.number);
        rank.collectives.choose_from({.algorithms = {"ring"}});
        rank.collectives.run(call, rank.stream);
        wait(rank);
        if (rank.number != 3) rank.collectives.run(call, rank.stream);
        said[static_cast<std::size_t>(rank.number)] =
            awaited_verdict(rank.collectives.communicator());
        EXPECT_TRUE(soon([&] { return rank.collectives.is_done(); }));
      },
      Seconds{3});

  expect_no_errors(errors);
  EXPECT_THAT(said, Each(HasSubstr("rank 3")));
}

TEST_F(RanksOfNodes, EndWhenOneOfThemGivesUp) {
  const Layout layout{3, 2};
  const CollectiveRequest request = request_of(layout, 1000);
  RankBuffers buffers(driver_, request);
  buffers.fill();

  const auto errors = on_ranks(layout, [&](const Rank& rank) {
    const CollectiveCall call = call_of(request, buffers, rank.number);
    if (rank.number == 4) rank.collectives.communicator().abort("no more gradients");
    else rank.collectives.run(call, rank.stream);
    const std::string said = awaited_verdict(rank.collectives.communicator());
    EXPECT_THAT(said, HasSubstr("no more gradients"));
    EXPECT_TRUE(soon([&] { return rank.collectives.is_done(); }));
  });

  // Who comes late is refused at once.
  for (const std::string& error : errors)
    EXPECT_THAT(error, testing::AnyOf(IsEmpty(), HasSubstr("no more gradients")));
}

TEST_F(RanksOfNodes, OfDifferentNumbersAreRefused) {
  auto ends = bootstrap_among_threads(3);

  const auto errors = in_threads(3, [&](int rank) {
    auto& end = ends[static_cast<std::size_t>(rank)];
    auto transport = transport_by_tcp(*end, "127.0.0.1", kLong);
    auto communicator = std::make_unique<Communicator>(
        std::move(end), CommunicatorOptions{.node = rank == 0 ? "a" : "b", .timeout = kLong});
    NodesCollectives(driver_, driver_.machine(), collective_settings(),
                     gpus_[static_cast<std::size_t>(rank)], std::move(communicator),
                     {.transport = std::move(transport)});
  });

  EXPECT_THAT(errors, Each(HasSubstr("node 0 has 1, node 1 has 2")));
}

TEST_F(RanksOfNodes, RefuseWhatNobodyCanDo) {
  const Layout layout{2, 1};
  const CollectiveRequest request = request_of(layout, 10);
  RankBuffers buffers(driver_, request);

  expect_no_errors(on_ranks(layout, [&](const Rank& rank) {
    CollectiveCall call = call_of(request, buffers, rank.number);
    call.reduction = {.operation = ReduceOperator::average, .type = ElementType::int32};
    expect_invalid_argument([&] { rank.collectives.run(call, rank.stream); }, "average", "int32");
    call = call_of(request, buffers, rank.number);
    call.elements = 0;
    expect_invalid_argument([&] { rank.collectives.run(call, rank.stream); }, "allreduce",
                            "no elements");
  }));
}

}  // namespace
}  // namespace polypath::test
