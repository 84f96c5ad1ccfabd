// How many messages may be under way between two ranks.

#include "collective/rank/message_pair.h"

#include <gtest/gtest.h>

#include "kernels/messages.h"
#include "support/layers.h"

namespace polypath::test::message_pair_test {
namespace {

TEST(MostUnderWay, AreAsManyAsThereAreFlagsWhereAnyNumberOfBlocksRuns) {
  EXPECT_EQ(most_under_way(8, 0), kMessageFlags);
  EXPECT_EQ(most_under_way(2, 1000), kMessageFlags);
}

// Each copy has a block at least, each launch one for its waits.
TEST(MostUnderWay, FitOnAGpuTogether) {
  for (int ranks = 2; ranks <= 16; ++ranks)
    for (const unsigned blocks : {78U, 108U, 132U, 148U}) {
      const auto lanes = 2 * (static_cast<std::uint64_t>(ranks) - 1);
      const std::uint64_t copies = lanes * most_under_way(ranks, blocks);
      const std::uint64_t launches = (copies + kMostMessages - 1) / kMostMessages;

      EXPECT_LE(copies + launches, blocks) << ranks << " ranks, " << blocks << " blocks";
    }
}

TEST(MostUnderWay, IsOneAtLeast) { EXPECT_EQ(most_under_way(16, 8), 1U); }

}  // namespace
}  // namespace polypath::test::message_pair_test
