#include "collective/program/dependences.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "support/layers.h"

namespace polypath::test::dependences_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

MemoryUse reads(int buffer, Bytes offset, Bytes bytes) {
  return {.slice = {buffer, offset}, .bytes = bytes};
}

MemoryUse writes(int buffer, Bytes offset, Bytes bytes) {
  return {.slice = {buffer, offset}, .bytes = bytes, .writes = true};
}

TEST(Dependences, NameWhoWroteWhatIsRead) {
  Dependences dependences;
  (void)dependences.add(1, std::vector{writes(0, 0_B, 8_B)});

  EXPECT_THAT(dependences.add(2, std::vector{reads(0, 4_B, 8_B)}), ElementsAre(0));
}

TEST(Dependences, NameWhoReadWhatIsWritten) {
  Dependences dependences;
  (void)dependences.add(1, std::vector{reads(0, 0_B, 8_B)});

  EXPECT_THAT(dependences.add(2, std::vector{writes(0, 7_B, 1_B)}), ElementsAre(0));
}

TEST(Dependences, NameNobodyForOtherMemoryAndForTwoReaders) {
  Dependences dependences;
  (void)dependences.add(1, std::vector{writes(0, 0_B, 8_B)});
  (void)dependences.add(2, std::vector{reads(1, 0_B, 8_B)});

  EXPECT_THAT(dependences.add(3, std::vector{reads(1, 0_B, 8_B), writes(0, 8_B, 8_B)}), IsEmpty());
}

TEST(Dependences, NameNobodyOfTheSameQueue) {
  Dependences dependences;
  (void)dependences.add(1, std::vector{writes(0, 0_B, 8_B)});

  EXPECT_THAT(dependences.add(1, std::vector{reads(0, 0_B, 8_B)}), IsEmpty());
}

// 0 -> 1 -> 2, and 2 touches what 0 wrote as well: that 1 is named is enough.
TEST(Dependences, LeaveOutWhatFollowsFromOthers) {
  Dependences dependences;
  (void)dependences.add(1, std::vector{writes(0, 0_B, 8_B)});
  (void)dependences.add(2, std::vector{reads(0, 0_B, 8_B), writes(1, 0_B, 8_B)});

  EXPECT_THAT(dependences.add(3, std::vector{reads(0, 0_B, 8_B), reads(1, 0_B, 8_B)}),
              ElementsAre(1));
}

// A node that writes all of a range stands for those that used it before.
TEST(Dependences, NameTheLastWriterAndNotThoseBeforeIt) {
  Dependences dependences;
  (void)dependences.add(1, std::vector{writes(0, 0_B, 8_B)});
  (void)dependences.add(2, std::vector{writes(0, 0_B, 8_B)});

  EXPECT_THAT(dependences.add(3, std::vector{writes(0, 0_B, 8_B)}), ElementsAre(1));
}

// What is written in parts is known part by part: 0 wrote 8 bytes, 1 the first half of them again.
TEST(Dependences, NameTheWriterOfEachPart) {
  Dependences dependences;
  (void)dependences.add(1, std::vector{writes(0, 0_B, 8_B)});
  (void)dependences.add(2, std::vector{writes(0, 0_B, 4_B)});

  EXPECT_THAT(dependences.add(3, std::vector{reads(0, 4_B, 4_B)}), ElementsAre(0));
  EXPECT_THAT(dependences.add(4, std::vector{reads(0, 2_B, 1_B)}), ElementsAre(1));
}

// Of readers of one queue the last one comes after the others.
TEST(Dependences, NameTheLastReaderOfEachQueue) {
  Dependences dependences;
  for (const int queue : {1, 2, 1, 2})
    (void)dependences.add(queue, std::vector{reads(0, 0_B, 8_B)});

  EXPECT_THAT(dependences.add(3, std::vector{writes(0, 7_B, 1_B)}), ElementsAre(3, 2));
}

// Two nodes conflict if one of them writes a byte that the other one uses.
bool conflict(const MemoryUse& a, const MemoryUse& b) {
  const Bytes begin = std::max(a.slice.offset, b.slice.offset);
  const Bytes end = std::min(a.slice.offset + a.bytes, b.slice.offset + b.bytes);
  return begin < end && (a.writes || b.writes);
}

// Random uses of 28 bytes by four queues, and after which nodes each of them comes: those that are
// named, the last one of its queue, and all that these come after.
struct RandomUses {
  void add(std::mt19937& random) {
    const auto below = [&](std::uint64_t bound) { return random() % bound; };
    const Bytes begin{below(20)}, size{below(8)};
    uses.push_back(below(2) == 0 ? reads(0, begin, size) : writes(0, begin, size));
    const auto queue = static_cast<int>(below(4));
    std::set<int> earlier;
    for (const int named : dependences.add(queue, std::vector{uses.back()}))
      comes_after(named, earlier);
    if (last.contains(queue)) comes_after(last[queue], earlier);
    last[queue] = static_cast<int>(after.size());
    after.push_back(std::move(earlier));
  }

  void comes_after(int node, std::set<int>& earlier) const {
    const std::set<int>& before = after[static_cast<std::size_t>(node)];
    earlier.insert(node);
    earlier.insert(before.begin(), before.end());
  }

  Dependences dependences;
  std::vector<MemoryUse> uses;
  std::vector<std::set<int>> after;
  std::map<int, int> last;  ///< by queue
};

class RandomDependences : public testing::TestWithParam<unsigned> {};

INSTANTIATE_TEST_SUITE_P(Seeds, RandomDependences, testing::Range(0U, 20U));

TEST_P(RandomDependences, OrderWhateverConflicts) {
  std::mt19937 random(GetParam());
  RandomUses nodes;
  for (int node = 0; node < 60; ++node) nodes.add(random);

  for (std::size_t later = 0; later < nodes.uses.size(); ++later)
    for (std::size_t earlier = 0; earlier < later; ++earlier)
      if (conflict(nodes.uses[earlier], nodes.uses[later])) {
        EXPECT_TRUE(nodes.after[later].contains(static_cast<int>(earlier)))
            << earlier << " before " << later;
      }
}

}  // namespace
}  // namespace polypath::test::dependences_test
