#include "collective/dependences.h"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace polypath::test
