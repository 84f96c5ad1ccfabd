// Bytes of simulated memory are this computer's own: what is verified is bounded, what is timed
// not.

#include <gtest/gtest.h>

#include "bench/measure.h"

namespace polypath::bench::verified_sizes_test {
namespace {

Result measured(Bytes limit) {
  Request request;
  request.machine = "h200x4";
  request.operation = "alltoall";
  request.source = "gpu0", request.destination = "gpu1";
  request.sizes = {1_MiB};
  request.memory_limit = limit;
  return measure_all(open_machine(request.machine, request.settings), request, nullptr).front();
}

// Twelve copies among four GPUs have a source and a destination each: 24 buffers.
TEST(VerifiedSizes, AreTheMeasuredOnesWhereThereIsRoom) {
  const Result result = measured(24_MiB);

  EXPECT_TRUE(result.verified);
  EXPECT_EQ(result.verified_bytes, 1_MiB);
}

TEST(VerifiedSizes, AreTheLargestHalfThatFits) {
  const Result result = measured(10_MiB);

  EXPECT_TRUE(result.verified);
  EXPECT_EQ(result.verified_bytes, 256_KiB);
  EXPECT_EQ(result.bytes, 1_MiB);
  EXPECT_EQ(result.seconds, measured(24_MiB).seconds);
}

}  // namespace
}  // namespace polypath::bench::verified_sizes_test
