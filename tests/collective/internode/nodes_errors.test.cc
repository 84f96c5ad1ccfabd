// Ranks of several nodes that differ, do not come, give up, or ask for what there is not.

#include <gmock/gmock.h>

#include <barrier>

#include "collective/ranks_of_nodes.h"
#include "support/errors.h"

namespace polypath::test::nodes_errors_test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

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
  const CollectiveRequest request = request_of(layout, 300'000);
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
      Seconds{5});

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
    // By a ring of copies: a simulated kernel that waits for messages never ends without them.
    rank.collectives.choose_from({.algorithms = {"ring"}});
    if (rank.number == 4) rank.collectives.communicator().abort("no more gradients");
    else rank.collectives.run(call, rank.stream);
    const std::string said = awaited_verdict(rank.collectives.communicator());
    EXPECT_THAT(said, HasSubstr("no more gradients"));
    EXPECT_TRUE(soon([&] { return rank.collectives.is_done(); }));
  });

  // A rank that comes late is refused at once.
  for (const std::string& error : errors)
    EXPECT_THAT(error, testing::AnyOf(IsEmpty(), HasSubstr("no more gradients")));
}

// And no rank leaves before all have ended: a rank that leaves is another reason to end.
TEST_F(RanksOfNodes, EndWhenOneOfThemGivesUpThatStays) {
  const Layout layout{2, 2};
  const CollectiveRequest request = request_of(layout, 300'000);
  for (const int gives_up : {1, 2}) {
    SCOPED_TRACE(testing::Message() << "rank " << gives_up);
    RankBuffers buffers(driver_, request);
    buffers.fill();
    std::barrier all_called(layout.size()), all_ended(layout.size());
    std::vector<int> has_ended(static_cast<std::size_t>(layout.size()));
    std::vector<std::string> said(has_ended.size());

    const auto errors = on_ranks(layout, [&](const Rank& rank) {
      const auto at = static_cast<std::size_t>(rank.number);
      // By a ring of copies: a simulated kernel that waits for messages never ends without them.
      rank.collectives.choose_from({.algorithms = {"ring"}});
      const CollectiveCall call = call_of(request, buffers, rank.number);
      rank.collectives.run(call, rank.stream);
      wait(rank);
      if (rank.number != gives_up) rank.collectives.run(call, rank.stream);
      all_called.arrive_and_wait();
      if (rank.number == gives_up) rank.collectives.communicator().abort("no more gradients");
      said[at] = awaited_verdict(rank.collectives.communicator());
      has_ended[at] = soon([&] { return rank.collectives.is_done(); }) ? 1 : 0;
      all_ended.arrive_and_wait();
    });

    EXPECT_THAT(has_ended, Each(1));
    EXPECT_THAT(said, Each(HasSubstr("no more gradients")));
    expect_no_errors(errors);
  }
}

TEST_F(RanksOfNodes, OfDifferentNumbersAreRefused) {
  auto ends = bootstrap_among_threads(3);

  const auto errors = in_threads(3, [&](int rank) {
    auto& end = ends[static_cast<std::size_t>(rank)];
    auto transport = transport_by_tcp(*end, "127.0.0.1", kLong);
    auto communicator = std::make_unique<Communicator>(
        std::move(end), CommunicatorOptions{.node = rank == 0 ? "a" : "b", .timeout = kLong});
    InternodeCollectives(driver_, driver_.machine(), collective_settings(),
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
    call.elements = std::uint64_t{1} << 61;
    expect_invalid_argument([&] { rank.collectives.run(call, rank.stream); }, "too many");
  }));
}

}  // namespace
}  // namespace polypath::test::nodes_errors_test
