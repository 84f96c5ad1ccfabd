// One end of collectives, on one node and on several: what the ranks' nodes make of it.

#include "collective/make_collectives.h"

#include <gmock/gmock.h>

#include "collective/support/rank_buffers.h"
#include "collective/support/ranks.h"
#include "communicator/together.h"
#include "core/error.h"
#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::collectives_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kRanks = 4;

class CollectivesAnywhere : public testing::Test {
 protected:
  /// At all ranks, `locals` of them on each node; the errors.
  template <class Action>
  std::vector<std::string> on_ranks(int locals, Action action, const std::string& host = {}) {
    auto ends = bootstrap_among_threads(kRanks);
    return in_threads(kRanks, [&](int rank) {
      auto communicator = std::make_unique<Communicator>(
          std::move(ends[static_cast<std::size_t>(rank)]),
          CommunicatorOptions{.node = std::to_string(rank / locals), .timeout = kLong});
      const std::string gpu = "gpu" + std::to_string(rank);
      const auto collectives =
          make_collectives(driver_, driver_.machine(), collective_settings(), gpu,
                           std::move(communicator), over_tcp(rank == 1 ? host : ""));
      const StreamHandle stream = driver_.create_stream(driver_.machine().find_place(gpu));
      action(*collectives, stream);
      driver_.destroy_stream(stream);
    });
  }

  CollectiveCall sum_of(std::uint64_t elements, const RankBuffers& buffers, int rank) const {
    const Address memory = buffers.addresses()[static_cast<std::size_t>(rank)];
    return {.elements = elements, .input = memory, .output = memory, .in_place = true};
  }

  sim::SimDriver driver_{load_machine("h200x4")};
  CollectiveRequest request_{
      .ranks = first_gpus(driver_.machine(), kRanks), .elements = 5003, .in_place = true};
};

TEST_F(CollectivesAnywhere, AreRightOnOneNodeAndOnSeveral) {
  for (const int locals : {4, 2, 1}) {
    RankBuffers buffers(driver_, request_);
    buffers.fill();

    expect_no_errors(on_ranks(locals, [&](Collectives& own, StreamHandle stream) {
      EXPECT_EQ(own.nodes(), kRanks / locals);
      own.run(sum_of(request_.elements, buffers, own.rank()), stream);
      own.await_messages();
      driver_.synchronize(stream);
    }));

    EXPECT_TRUE(buffers.right()) << locals;
  }
  EXPECT_THAT(driver_.violations(), IsEmpty());
}

// What is prepared at another memory leaves that as it is, and the call is right afterwards.
TEST_F(CollectivesAnywhere, PrepareWithoutDoing) {
  for (const int locals : {4, 2, 1}) {
    RankBuffers buffers(driver_, request_);
    buffers.fill();
    const Address untouched{1};  // writing to it would be reported, and end the test

    expect_no_errors(on_ranks(locals, [&](Collectives& own, StreamHandle stream) {
      const CollectiveCall call = sum_of(request_.elements, buffers, own.rank());
      CollectiveCall elsewhere = call;
      elsewhere.input = elsewhere.output = untouched;
      own.prepare(elsewhere);
      driver_.synchronize(stream);
      const ChosenWay way = own.chosen(call);
      EXPECT_EQ(way.predicted.has_value(), locals == kRanks);
      EXPECT_EQ(way.algorithm == "nodes", locals != kRanks);
      own.run(call, stream);
      own.await_messages();
      driver_.synchronize(stream);
    }));

    EXPECT_TRUE(buffers.right()) << locals;
  }
}

TEST_F(CollectivesAnywhere, NameARankThatCannotBeReached) {
  const auto errors = on_ranks(
      2, [](Collectives&, StreamHandle) {}, "no.such.host.invalid");

  for (const std::string& error : errors)
    EXPECT_THAT(error, HasSubstr("Rank 1 cannot be reached from other nodes "
                                 "('no.such.host.invalid' is no name or address of its computer)"));
}

// Mist: 5 us · 12 GB/s = 60,000 B, which are 3 % of 2,000,000: 2 MiB. h200x4 says nothing of one.
TEST(PieceBetweenNodes, HidesTheLatencyOfTheNetwork) {
  Machine machine = load_machine("mist");

  EXPECT_EQ(piece_between_nodes(machine), 2_MiB);
  EXPECT_EQ(piece_between_nodes(load_machine("h200x4")), 1_MiB);

  machine.network->latency = Seconds{1};
  EXPECT_EQ(piece_between_nodes(machine), 16_MiB);
  machine.network->latency = Seconds{};
  EXPECT_EQ(piece_between_nodes(machine), 1_KiB);
}

}  // namespace
}  // namespace polypath::test::collectives_test
