#include "machine/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/layers.h"

namespace polypath::test::pattern_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Place> places() {
  std::vector<Place> made;
  for (const char* name : {"gpu0", "gpu1", "gpu2", "host0"}) made.push_back({.name = name});
  return made;
}

std::vector<std::string> names_of(std::string_view pattern, std::size_t limit = 64) {
  std::vector<std::string> names;
  for (const NumberedName& name : expand_range(pattern, limit)) names.push_back(name.name);
  return names;
}

std::vector<int> selected(std::string_view pattern) {
  std::vector<int> ids;
  for (const PlaceId id : select_places(places(), pattern)) ids.push_back(id.value);
  return ids;
}

TEST(ExpandRange, CountsFromFirstToLast) {
  EXPECT_THAT(names_of("gpu[0-2]"), ElementsAre("gpu0", "gpu1", "gpu2"));
  EXPECT_THAT(names_of("gpu[9-10]x"), ElementsAre("gpu9x", "gpu10x"));
}

TEST(ExpandRange, KeepsAPlainName) { EXPECT_THAT(names_of("host0"), ElementsAre("host0")); }

TEST(ExpandRange, RefusesWhatIsNoRange) {
  for (const char* pattern :
       {"gpu[", "gpu[]", "gpu[0]", "gpu[3-1]", "gpu[-1-2]", "gpu[a-b]", "gpu[0-9999999]", "gpu[0-"})
    EXPECT_THAT(names_of(pattern), IsEmpty()) << pattern;
}

TEST(ExpandRange, RefusesMoreThanTheLimit) {
  EXPECT_THAT(names_of("gpu[0-3]", 4), testing::SizeIs(4));
  EXPECT_THAT(names_of("gpu[0-4]", 4), IsEmpty());
}

TEST(SelectPlaces, TakesStarsRangesAndNames) {
  EXPECT_THAT(selected("gpu*"), ElementsAre(0, 1, 2));
  EXPECT_THAT(selected("*"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(selected("gpu[1-2]"), ElementsAre(1, 2));
  EXPECT_THAT(selected("host0"), ElementsAre(3));
  EXPECT_THAT(selected("tpu*"), IsEmpty());
}

TEST(ExpandResourceName, GivesOnePerPlaceOrOrderedPair) {
  EXPECT_THAT(expand_resource_name(places(), "gpu[0-1].egress"),
              ElementsAre("gpu0.egress", "gpu1.egress"));
  EXPECT_THAT(expand_resource_name(places(), "gpu[0-1]-gpu*.link"),
              ElementsAre("gpu0-gpu1.link", "gpu0-gpu2.link", "gpu1-gpu0.link", "gpu1-gpu2.link"));
  EXPECT_THAT(expand_resource_name(places(), "xbus.0-1"), ElementsAre("xbus.0-1"));
}

TEST(Substitute, ReplacesEveryMark) {
  const auto between = [](std::string_view text) {
    return substitute(text, {{"{from}", "gpu0"}, {"{to}", "gpu1"}});
  };
  EXPECT_EQ(between("{from}-{to}.link"), "gpu0-gpu1.link");
  EXPECT_EQ(between("{fro}{to"), "{fro}{to");
  EXPECT_EQ(substitute("{place}.out", {{"{place}", "host0"}}), "host0.out");
}

}  // namespace
}  // namespace polypath::test::pattern_test
