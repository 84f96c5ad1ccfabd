// Long computations that are ended from outside.

#include "core/interruption.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "support/layers.h"

namespace polypath::test::interruption_test {
namespace {

TEST(Interruption, NobodyIsAskedWhereNobodyWantsToBe) { EXPECT_NO_THROW(check_interruption()); }

TEST(Interruption, WhatTheCheckThrowsEndsTheComputation) {
  const Interruptible watched([] { throw std::runtime_error("Ctrl-C"); });

  EXPECT_THROW(check_interruption(), std::runtime_error);
}

TEST(Interruption, TheInnermostCountsUntilItGoes) {
  int outer = 0, inner = 0;
  const Interruptible watched([&] { ++outer; });
  {
    const Interruptible within([&] { ++inner; });
    check_interruption();
  }

  check_interruption();

  EXPECT_EQ(outer, 1);
  EXPECT_EQ(inner, 1);
}

TEST(Interruption, OtherThreadsAreNotEnded) {
  const Interruptible watched([] { throw std::runtime_error("Ctrl-C"); });
  bool ended = false;

  std::thread([&] {
    check_interruption();
    ended = true;
  }).join();

  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace polypath::test::interruption_test
