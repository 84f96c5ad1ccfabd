// Copies that lately were the driver's own, told apart from others.

#include "ways/preload/lately_native.h"

#include <gtest/gtest.h>

namespace polypath::preload {
namespace {

ProgramCopy copy(std::uintptr_t destination = 0x7f0000200000,
                 std::uintptr_t source = 0x7e0000400000, Bytes bytes = 4_MiB) {
  return {{destination}, {source}, bytes, nullptr, false};
}

TEST(LatelyNative, KnowsWhatItWasTold) {
  LatelyNative lately;
  EXPECT_FALSE(lately.contains(copy()));

  lately.remember(copy());

  EXPECT_TRUE(lately.contains(copy()));
}

TEST(LatelyNative, IsAboutThesePagesAndThisSize) {
  LatelyNative lately;
  lately.remember(copy());

  EXPECT_TRUE(lately.contains(copy(0x7f0000200010, 0x7e0000400fff)));
  EXPECT_FALSE(lately.contains(copy(0x7f0000201000)));
  EXPECT_FALSE(lately.contains(copy(0x7f0000200000, 0x7e0000401000)));
  EXPECT_FALSE(lately.contains(copy(0x7f0000200000, 0x7e0000400000, 4_MiB + 1_B)));
  EXPECT_FALSE(lately.contains(copy(0x7e0000400000, 0x7f0000200000)));
}

// The program may have other memory there by now.
TEST(LatelyNative, LooksAgainAfterSomeUses) {
  LatelyNative lately;
  lately.remember(copy());
  for (std::uint32_t i = 0; i < LatelyNative::kUses; ++i) EXPECT_TRUE(lately.contains(copy()));

  EXPECT_FALSE(lately.contains(copy()));

  lately.remember(copy());
  EXPECT_TRUE(lately.contains(copy()));
}

}  // namespace
}  // namespace polypath::preload
