#include "collective/rank/bounded_map.h"

#include <gtest/gtest.h>

#include <string>

#include "support/layers.h"

namespace polypath::test::bounded_map_test {
namespace {

TEST(BoundedMap, ForgetsWhatWasAddedFirst) {
  BoundedMap<int, std::string> map(10);

  EXPECT_FALSE(map.add(1, "a", 4));
  EXPECT_FALSE(map.add(2, "b", 6));
  (void)map.find(1);  // looking does not keep it
  EXPECT_TRUE(map.add(3, "c", 1));

  EXPECT_EQ(map.find(1), nullptr);
  EXPECT_EQ(*map.find(2), "b");
  EXPECT_EQ(*map.find(3), "c");
}

TEST(BoundedMap, KeepsWhatIsTooLargeByItself) {
  BoundedMap<int, std::string> map(10);
  (void)map.add(1, "a", 4);

  EXPECT_TRUE(map.add(2, "b", 100));

  EXPECT_EQ(map.count(), 1U);
  EXPECT_EQ(*map.find(2), "b");
}

TEST(BoundedMap, HasRoomForWhatWasForgotten) {
  BoundedMap<int, std::string> map(10);
  for (int key = 0; key < 5; ++key) (void)map.add(key, "a", 5);

  EXPECT_TRUE(map.add(0, "again", 5));
  EXPECT_EQ(*map.find(0), "again");
  EXPECT_EQ(map.count(), 2U);
  map.clear();
  EXPECT_FALSE(map.add(7, "b", 10));
}

}  // namespace
}  // namespace polypath::test::bounded_map_test
