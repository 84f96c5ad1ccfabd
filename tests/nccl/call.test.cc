// NCCL's calls in our form, and how large they are.

#include "nccl/call.h"

#include <gtest/gtest.h>

#include "support/layers.h"

namespace polypath::test::nccl_call_test {
namespace {

using nccl::Call;
using nccl::message_of;
using nccl::Operation;
using nccl::our_form;

// In the order of ncclDataType_t and ncclRedOp_t.
constexpr int kInt32 = 2, kFloat64 = 8, kMaximum = 2, kAverage = 4;
constexpr int kRanks = 4;

Call call(Operation operation, int type, int reduction = nccl::kSum) {
  return {.operation = operation, .count = 10, .type = type, .reduction = reduction};
}

TEST(NcclCall, OfAnAverageIsOursForFloatingPointNumbersAlone) {
  EXPECT_TRUE(our_form(call(Operation::all_reduce, nccl::kFloat32, kAverage), kRanks));
  EXPECT_FALSE(our_form(call(Operation::all_reduce, kInt32, kAverage), kRanks));
}

TEST(NcclCall, OfAMaximumIsOursForIntegersAlone) {
  EXPECT_TRUE(our_form(call(Operation::reduce_scatter, kInt32, kMaximum), kRanks));
  EXPECT_FALSE(our_form(call(Operation::reduce_scatter, kFloat64, kMaximum), kRanks));
}

TEST(NcclCall, WithARootThatIsNoneIsNccls) {
  Call broadcast = call(Operation::broadcast, nccl::kFloat32);
  broadcast.other = kRanks - 1;
  const auto last = our_form(broadcast, kRanks);
  broadcast.other = kRanks;
  const auto beyond = our_form(broadcast, kRanks);
  broadcast.other = -1;

  ASSERT_TRUE(last);
  EXPECT_EQ(last->root, kRanks - 1);
  EXPECT_FALSE(beyond);
  EXPECT_FALSE(our_form(broadcast, kRanks));
}

TEST(NcclCall, IsAsLargeAsARanksLargestMemory) {
  EXPECT_EQ(message_of(call(Operation::all_reduce, kFloat64), kRanks), 80_B);
  EXPECT_EQ(message_of(call(Operation::all_gather, kFloat64), kRanks), 320_B);
}

}  // namespace
}  // namespace polypath::test::nccl_call_test
