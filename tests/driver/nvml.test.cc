// Whether a GPU is used by other processes, by the list of those that have contexts there.

#include "driver/cuda/nvml.h"

#include <gtest/gtest.h>

namespace polypath::cuda::nvml_test {
namespace {

constexpr unsigned kOwn = 4711;

TEST(OthersOnAGpu, AreNoneWhereNoProcessIs) {
  EXPECT_FALSE(are_others_among({}, kOwn, false));
  EXPECT_FALSE(are_others_among({}, kOwn, true));  // NVML is silent
}

// A program with contexts on all GPUs, of which the driver may not know.
TEST(OthersOnAGpu, AreNotTheProcessItself) {
  EXPECT_FALSE(are_others_among({kOwn}, kOwn, true));
  EXPECT_FALSE(are_others_among({kOwn}, kOwn, false));
}

// In a container this process has a number of the host's.
TEST(OthersOnAGpu, AreNotTheProcessItselfByAnotherNumber) {
  EXPECT_FALSE(are_others_among({12}, kOwn, true));
  EXPECT_TRUE(are_others_among({12, 13}, kOwn, true));
}

TEST(OthersOnAGpu, AreThoseOfOtherNumbers) {
  EXPECT_TRUE(are_others_among({12}, kOwn, false));
  EXPECT_TRUE(are_others_among({12, kOwn}, kOwn, true));
}

}  // namespace
}  // namespace polypath::cuda::nvml_test
