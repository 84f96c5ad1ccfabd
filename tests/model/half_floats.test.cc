#include "model/half_floats.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/layers.h"

namespace polypath::test::half_floats_test {
namespace {

float through16(float value) { return static_cast<float>(Float16(value)); }
float throughb16(float value) { return static_cast<float>(BFloat16(value)); }

TEST(Float16, HasEveryNumberThatItsBitsSay) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    Float16 number;
    number.bits = static_cast<std::uint16_t>(bits);
    const auto value = static_cast<float>(number);
    if (!std::isnan(value)) EXPECT_EQ(Float16(value).bits, bits);
    else EXPECT_TRUE(std::isnan(through16(value)));
  }
}

// Between 1 and 2 steps are 2^-10: halfway goes to the even one.
TEST(Float16, RoundsToTheNearest) {
  const float step = std::ldexp(1.0F, -10);

  EXPECT_EQ(through16(1 + 0.4F * step), 1);
  EXPECT_EQ(through16(1 + 0.5F * step), 1);
  EXPECT_EQ(through16(1 + 1.5F * step), 1 + 2 * step);
  EXPECT_EQ(through16(2 - 0.4F * step), 2);
  EXPECT_EQ(through16(65519), 65504);
  EXPECT_EQ(through16(65520), std::numeric_limits<float>::infinity());
  EXPECT_EQ(through16(std::ldexp(1.0F, -25)), 0);
  EXPECT_EQ(through16(std::ldexp(1.5F, -25)), std::ldexp(1.0F, -24));
}

TEST(BFloat16, HasEveryNumberThatItsBitsSay) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    BFloat16 number;
    number.bits = static_cast<std::uint16_t>(bits);
    const auto value = static_cast<float>(number);
    if (!std::isnan(value)) EXPECT_EQ(BFloat16(value).bits, bits);
    else EXPECT_TRUE(std::isnan(throughb16(value)));
  }
}

// Between 1 and 2 steps are 2^-7.
TEST(BFloat16, RoundsToTheNearest) {
  const float step = std::ldexp(1.0F, -7);

  EXPECT_EQ(throughb16(1 + 0.5F * step), 1);
  EXPECT_EQ(throughb16(1 + 1.5F * step), 1 + 2 * step);
  EXPECT_EQ(throughb16(1 + 1.6F * step), 1 + 2 * step);
}

}  // namespace
}  // namespace polypath::test::half_floats_test
