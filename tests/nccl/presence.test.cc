// Ranks find each other without waiting.

#include "nccl/presence.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace polypath::test::nccl_presence_test {
namespace {

using nccl::Presence;

std::string key_of_test() {
  return std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + "-" +
         std::to_string(getpid());
}

TEST(NcclPresence, IsCompleteOnceAllRanksHaveCome) {
  const Presence first(key_of_test(), 0, true);
  EXPECT_FALSE(first.is_complete(2));

  const Presence second(key_of_test(), 1, true);

  EXPECT_TRUE(first.is_complete(2));
  EXPECT_TRUE(second.is_complete(2));
  first.forget();
}

TEST(NcclPresence, IsNotCompleteWithARankThatDoesNotJoin) {
  const Presence first(key_of_test(), 0, true), second(key_of_test(), 1, false);

  EXPECT_FALSE(first.is_complete(2));
  EXPECT_FALSE(second.is_complete(2));
  first.forget();
}

TEST(NcclPresence, IsGoneOnceItIsForgotten) {
  const Presence first(key_of_test(), 0, true), second(key_of_test(), 1, true);

  first.forget();

  EXPECT_FALSE(second.is_complete(2));
  second.forget();
}

}  // namespace
}  // namespace polypath::test::nccl_presence_test
