// Programs as calls on streams.

#include "model/stream_calls.h"

#include <gtest/gtest.h>

#include "model/fan.h"
#include "model/transfer.h"
#include "support/layers.h"

namespace polypath::test::stream_calls_test {
namespace {

// Of a staged path's two queues the second ends last.
TEST(JoinedQueues, AreTheLastOfEachPath) {
  const std::vector<PathShape> paths{carrying(0, {10}), carrying(1, {10, 10}), carrying(2, {10})};

  const Program program = program_of(fan_machine(), {Executor::stream, paths}, 4);

  EXPECT_EQ(program.queues().size(), 5U);
  EXPECT_EQ(joined_queues(program), 2U);
}

TEST(JoinedQueues, AreNoneWhereAllIsInTheCallers) {
  const Program program = program_of(fan_machine(), {Executor::stream, {carrying(0, {10})}}, 4);

  EXPECT_EQ(joined_queues(program), 0U);
}

}  // namespace
}  // namespace polypath::test::stream_calls_test
