// A value that one thread writes and others copy.

#include "core/versioned.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "support/layers.h"

namespace polypath::test::versioned_test {
namespace {

using Numbers = std::array<std::uint64_t, 40>;

Numbers all_of(std::uint64_t number) {
  Numbers numbers;
  numbers.fill(number);
  return numbers;
}

TEST(Versioned, IsNoneUntilItIsWritten) {
  Versioned<Numbers> value;

  EXPECT_FALSE(value.read());
  value.write(all_of(7));
  EXPECT_EQ(value.read(), all_of(7));
  value.write(all_of(9));
  EXPECT_EQ(value.read(), all_of(9));
}

// The thread sanitizer finds words that are written and read without order.
TEST(Versioned, IsReadWholeWhileItIsWritten) {
  constexpr std::uint64_t kWrites = 20000;
  Versioned<Numbers> value;
  value.write(all_of(0));
  std::jthread writer([&] {
    for (std::uint64_t number = 1; number <= kWrites; ++number) value.write(all_of(number));
  });

  for (std::uint64_t latest = 0; latest < kWrites;) {
    const auto found = value.read();
    if (!found) continue;
    ASSERT_EQ(*found, all_of(found->front()));
    ASSERT_GE(found->front(), latest);
    latest = found->front();
  }
}

}  // namespace
}  // namespace polypath::test::versioned_test
