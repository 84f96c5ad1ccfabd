#include "collective/dependences.h"

#include <gmock/gmock.h>

#include <random>

namespace polypath::test {
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

// Who writes all of a range stands for those who used it before.
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

// Two nodes conflict if one of them writes a byte that the other one uses. Then the later one comes
// after the earlier one over names and queues; else it need not.
TEST(Dependences, OrderWhateverConflictsOnRandomMemory) {
  std::mt19937 random(7);
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  for (int round = 0; round < 20; ++round) {
    Dependences dependences;
    std::vector<MemoryUse> uses;
    std::vector<int> queues;
    std::vector<std::vector<bool>> after;
    for (int node = 0; node < 60; ++node) {
      const Bytes begin{static_cast<std::uint64_t>(below(20))};
      const Bytes size{static_cast<std::uint64_t>(below(8))};
      uses.push_back(below(2) == 0 ? reads(0, begin, size) : writes(0, begin, size));
      queues.push_back(below(4));

      const std::vector<int> named = dependences.add(queues.back(), std::vector{uses.back()});

      std::vector<bool> mine(60);
      const auto come_after = [&](int earlier) {
        for (int i = 0; i < earlier; ++i) mine[i] = mine[i] || after[earlier][i];
        mine[earlier] = true;
      };
      for (const int earlier : named) come_after(earlier);
      for (int i = 0; i < node; ++i)
        if (queues[i] == queues[node]) come_after(i);
      for (int i = 0; i < node; ++i) {
        const bool shared = uses[i].slice.offset < begin + size &&
                            begin < uses[i].slice.offset + uses[i].bytes && size.value > 0 &&
                            uses[i].bytes.value > 0;
        if (shared && (uses[i].writes || uses[node].writes)) {
          EXPECT_TRUE(mine[i]) << i << " before " << node;
        }
      }
      after.push_back(mine);
    }
  }
}

}  // namespace
}  // namespace polypath::test
