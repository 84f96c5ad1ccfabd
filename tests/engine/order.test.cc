// A transfer comes after what is in its stream and before what follows, and never blocks the
// caller.

#include <gmock/gmock.h>

#include "support/rig.h"

namespace polypath::test::order_test {
namespace {

using testing::IsEmpty;

constexpr std::size_t kMiB = std::size_t{1} << 20;
const std::vector<std::string> kAllBeluga{"direct", "gpu2", "gpu3", "host"};

class Order : public testing::TestWithParam<std::optional<Executor>> {};

std::string executor_name(const testing::TestParamInfo<std::optional<Executor>>& info) {
  return info.param == Executor::graph ? "graph" : "stream";
}

INSTANTIATE_TEST_SUITE_P(Executors, Order, testing::Values(Executor::stream, Executor::graph),
                         executor_name);

TEST_P(Order, ATransferComesAfterWhatIsInTheStreamAndBeforeWhatFollows) {
  Rig rig("beluga", small_settings());
  Buffer& first = rig.buffer("host", kMiB);
  Buffer& source = rig.buffer("gpu0", kMiB);
  Buffer& destination = rig.buffer("gpu1", kMiB);
  Buffer& last = rig.buffer("gpu2", kMiB);
  const StreamHandle stream = rig.stream("gpu0");
  const PlanOptions native = forced({"direct"}, Executor::native);

  rig.copy(source, first, stream, native);
  rig.copy(destination, source, stream, forced(kAllBeluga, GetParam()));
  rig.copy(last, destination, stream, native);

  EXPECT_TRUE(rig.intact());
  EXPECT_THAT(rig.close(), IsEmpty());
}

TEST_P(Order, WhatFollowsMayOverwriteTheSource) {
  Rig rig("beluga", small_settings());
  Buffer& source = rig.buffer("gpu0", kMiB);
  Buffer& destination = rig.buffer("gpu1", kMiB);
  Buffer& other = rig.buffer("host", kMiB);
  const StreamHandle stream = rig.stream("gpu0");

  rig.copy(destination, source, stream, forced(kAllBeluga, GetParam()));
  rig.copy(source, other, stream, forced({"direct"}, Executor::native));

  EXPECT_TRUE(rig.intact());
  EXPECT_THAT(rig.close(), IsEmpty());
}

TEST_P(Order, TransfersOnOneStreamFollowEachOther) {
  Rig rig("beluga", small_settings());
  Buffer& a = rig.buffer("gpu0", kMiB);
  Buffer& b = rig.buffer("gpu1", kMiB);
  Buffer& c = rig.buffer("gpu2", kMiB);
  const StreamHandle stream = rig.stream("gpu3");
  PlanOptions options;
  options.executor = GetParam();

  for (int round = 0; round < 4; ++round) {
    rig.copy(b, a, stream, options);
    rig.copy(c, b, stream, options);
    rig.copy(a, 0, c, 1, kMiB - 1, stream, options);
  }

  EXPECT_TRUE(rig.intact());
  EXPECT_THAT(rig.close(), IsEmpty());
}

TEST_P(Order, EventsOfTheCallerOrderTransfersOfTwoStreams) {
  Rig rig("beluga", small_settings());
  Buffer& a = rig.buffer("gpu0", kMiB);
  Buffer& b = rig.buffer("gpu1", kMiB);
  Buffer& c = rig.buffer("gpu2", kMiB);
  const StreamHandle first = rig.stream("gpu0");
  const StreamHandle second = rig.stream("gpu1");
  const EventHandle event = rig.driver().create_event({0});

  rig.copy(b, a, first, forced(kAllBeluga, GetParam()));
  rig.driver().record(event, first);
  rig.driver().wait(second, event);
  rig.copy(c, b, second, forced({"direct", "gpu0", "gpu3"}, GetParam()));

  EXPECT_TRUE(rig.intact());
  rig.driver().destroy_event(event);
  EXPECT_THAT(rig.close(), IsEmpty());
}

TEST_P(Order, TransfersOfTwoStreamsShareTheStagingMemoryInTurn) {
  Rig rig("beluga", small_settings());
  const std::vector<StreamHandle> streams{rig.stream("gpu0"), rig.stream("gpu1")};

  for (int i = 0; i < 8; ++i)
    rig.copy(rig.buffer("gpu1", kMiB / 8), rig.buffer("gpu0", kMiB / 8),
             streams[static_cast<std::size_t>(i % 2)], forced(kAllBeluga, GetParam()));

  EXPECT_TRUE(rig.intact());
  EXPECT_THAT(rig.close(), IsEmpty());
}

TEST_P(Order, TheCallerIsNeverBlocked) {
  Rig rig("beluga", small_settings());
  Buffer& source = rig.buffer("gpu0", kMiB);
  Buffer& destination = rig.buffer("gpu1", kMiB);
  const StreamHandle stream = rig.stream("gpu0");

  for (int i = 0; i < 8; ++i) rig.copy(destination, source, stream, forced(kAllBeluga, GetParam()));

  EXPECT_EQ(rig.driver().uses(sim::Call::synchronize), 0);
  EXPECT_LE(rig.driver().uses(sim::Call::is_done), 8);  // asked once, not until it is so
}

}  // namespace
}  // namespace polypath::test::order_test
