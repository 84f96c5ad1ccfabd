// What is remembered of copies: by key, for so many uses, the newest first.

#include "engine/call/recent_copies.h"

#include <gtest/gtest.h>

#include <string>

#include "support/layers.h"

namespace polypath::test::recent_copies_test {
namespace {

// All of them share a slot.
struct Key {
  int number = 0;
  bool operator==(const Key&) const = default;
  [[nodiscard]] std::uint64_t hash() const { return 7; }
};
using Recent = RecentCopies<Key, std::string>;

TEST(RecentCopies, AreFoundByTheirKey) {
  Recent recent;
  EXPECT_EQ(recent.find({0}), nullptr);

  recent.remember({1}, "one");

  ASSERT_NE(recent.find({1}), nullptr);
  EXPECT_EQ(*recent.find({1}), "one");
  EXPECT_EQ(recent.find({2}), nullptr);
}

// The program may have other memory there by now.
TEST(RecentCopies, AreForgottenAfterSomeUses) {
  Recent recent;
  recent.remember({1}, "one");
  EXPECT_NE(recent.peek({1}), nullptr);

  int uses = 0;
  while (recent.find({1}) != nullptr) ++uses;

  EXPECT_EQ(uses, Recent::kUses);
  EXPECT_EQ(recent.peek({1}), nullptr);
}

TEST(RecentCopies, ANewerOneTakesTheSlot) {
  Recent recent;
  recent.remember({1}, "one");

  recent.remember({2}, "two");

  EXPECT_EQ(recent.find({1}), nullptr);
  ASSERT_NE(recent.find({2}), nullptr);
  EXPECT_EQ(*recent.find({2}), "two");
}

TEST(RecentCopies, OnlyTheOneThatIsMeantIsForgotten) {
  Recent recent;
  recent.remember({1}, "one");

  recent.forget({2});
  const bool kept = recent.peek({1}) != nullptr;
  recent.forget({1});

  EXPECT_TRUE(kept);
  EXPECT_EQ(recent.peek({1}), nullptr);
}

}  // namespace
}  // namespace polypath::test::recent_copies_test
