// Calls of several processes are made in one order, whichever they come to first.

#include "mpi/call_order.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/layers.h"

namespace polypath::test::mpi_call_order_test {
namespace {

using mpi::CallOrder;
using mpi::Count;
using Place = CallOrder::Place;

constexpr int kHere = 3, kThere = 5;  // ranks of two processes

void settle(Place& here, Place& there) {
  const Count largest = std::max(here.number(), there.number());
  here.settle(largest);
  there.settle(largest);
}

TEST(CallOrder, ACallAloneIsFirst) {
  CallOrder order;
  Place call(order, kHere);

  call.settle(call.number());

  EXPECT_TRUE(call.is_first());
}

TEST(CallOrder, NoNumberIsToldTwice) {
  CallOrder here, there;
  const Place first(here, kHere), second(here, kHere), other(there, kThere);

  EXPECT_NE(first.number(), second.number());
  EXPECT_NE(first.number(), other.number());
}

TEST(CallOrder, ProcessesThatComeToTwoCallsInOtherOrdersMakeThemInOne) {
  CallOrder here, there;
  Place red_here(here, kHere), blue_here(here, kHere);
  Place blue_there(there, kThere), red_there(there, kThere);

  settle(red_here, red_there);
  settle(blue_here, blue_there);

  EXPECT_NE(red_here.is_first(), blue_here.is_first());
  EXPECT_EQ(red_here.is_first(), red_there.is_first());
  EXPECT_EQ(blue_here.is_first(), blue_there.is_first());
}

TEST(CallOrder, ACallIsNotFirstWhileAnotherMayGetASmallerNumber) {
  CallOrder here;
  Place early(here, kHere), late(here, kHere);

  late.settle(late.number());

  EXPECT_FALSE(late.is_first());
  early.settle(late.number() + 1);
  EXPECT_TRUE(late.is_first());
}

TEST(CallOrder, ALaterCallHasALargerNumberThanAllThatWereSeen) {
  CallOrder here, there;
  for (int call = 0; call < 9; ++call) const Place one(there, kThere);
  Place first(here, kHere), first_there(there, kThere);
  settle(first, first_there);

  const Place second(here, kHere);

  EXPECT_GT(second.number(), first.number());
}

TEST(CallOrder, TheNextCallIsFirstWhenOneIsOver) {
  CallOrder order;
  Place later(order, kHere);
  {
    Place first(order, kHere);
    first.settle(first.number());
    later.settle(first.number() + 1);
    EXPECT_FALSE(later.is_first());
  }

  EXPECT_TRUE(later.is_first());
}

}  // namespace
}  // namespace polypath::test::mpi_call_order_test
