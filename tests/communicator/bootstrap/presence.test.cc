// Ranks find each other without waiting.

#include "communicator/bootstrap/presence.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "support/layers.h"

namespace polypath::test::presence_test {
namespace {

std::string key_of_test() {
  return std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + "-" +
         std::to_string(getpid());
}

TEST(RankPresence, IsCompleteOnceAllRanksHaveCome) {
  const RankPresence first(key_of_test(), 0, true);
  EXPECT_FALSE(first.is_complete(2));

  const RankPresence second(key_of_test(), 1, true);

  EXPECT_TRUE(first.is_complete(2));
  EXPECT_TRUE(second.is_complete(2));
  first.forget();
}

TEST(RankPresence, IsNotCompleteWithARankThatDoesNotJoin) {
  const RankPresence first(key_of_test(), 0, true), second(key_of_test(), 1, false);

  EXPECT_FALSE(first.is_complete(2));
  EXPECT_FALSE(second.is_complete(2));
  first.forget();
}

TEST(RankPresence, IsGoneOnceItIsForgotten) {
  const RankPresence first(key_of_test(), 0, true), second(key_of_test(), 1, true);

  first.forget();

  EXPECT_FALSE(second.is_complete(2));
  second.forget();
}

}  // namespace
}  // namespace polypath::test::presence_test
