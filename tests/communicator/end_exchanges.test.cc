// A communicator whose ranks exchange nothing any more.

#include <gtest/gtest.h>

#include "communicator/communicator.h"
#include "core/error.h"
#include "support/layers.h"

namespace polypath::test::end_exchanges_test {
namespace {

TEST(EndExchanges, MakesExchangesErrorsAndLeavesCallsAsTheyWere) {
  Communicator alone(std::move(bootstrap_among_threads(1).front()));
  const CallNumber before = alone.begin({.operation = "first"});

  alone.end_exchanges();

  EXPECT_THROW((void)alone.all_gather("x"), Error);
  EXPECT_THROW((void)alone.split(0, 0), Error);
  EXPECT_EQ(alone.begin({.operation = "second"}), before + 1);
  EXPECT_NO_THROW(alone.check());
  EXPECT_EQ(alone.size(), 1);
}

}  // namespace
}  // namespace polypath::test::end_exchanges_test
