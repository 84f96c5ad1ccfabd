#include "core/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "support/layers.h"

namespace polypath::test::text_test {
namespace {

using testing::ElementsAre;

TEST(ParseBytes, ReadsPlainAndSuffixedNumbers) {
  EXPECT_EQ(parse_bytes("0"), 0_B);
  EXPECT_EQ(parse_bytes("4096"), 4096_B);
  EXPECT_EQ(parse_bytes("4k"), 4_KiB);
  EXPECT_EQ(parse_bytes("64M"), 64_MiB);
  EXPECT_EQ(parse_bytes("64MB"), 64_MiB);
  EXPECT_EQ(parse_bytes("1GiB"), 1_GiB);
  EXPECT_EQ(parse_bytes(" 2T "), 2048_GiB);
  EXPECT_EQ(parse_bytes("18446744073709551615").value, 18446744073709551615U);
}

TEST(ParseBytes, RefusesEverythingElse) {
  for (const char* text : {"", " ", "M", "-1", "+1", "1.5M", "1 M", "64Mi", "64X", "0x10", "1e3",
                           "18446744073709551616", "17179869184G", "16777216T", "1MBB"})
    EXPECT_THROW(parse_bytes(text), Error) << text;
}

TEST(ParseBytes, NamesTheValueAndTheRemedy) {
  try {
    parse_bytes("64X", "chunk size");
    FAIL() << "64X is no size";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_STREQ(error.what(),
                 "chunk size '64X' cannot be read (a size is a whole number with an optional K, M, "
                 "G or T, powers of 1024) Write for example 4096, 64K or 512M.");
  }
}

TEST(FormatBytes, IsTheShortestFormThatReadsBack) {
  EXPECT_EQ(format_bytes(0_B), "0");
  EXPECT_EQ(format_bytes(4097_B), "4097");
  EXPECT_EQ(format_bytes(64_MiB), "64M");
  EXPECT_EQ(format_bytes(1536_MiB), "1536M");
  for (const std::uint64_t value : {1ULL, 1023ULL, 1024ULL, 1025ULL, 1ULL << 40, ~0ULL})
    EXPECT_EQ(parse_bytes(format_bytes({value})).value, value);
}

TEST(Describe, WritesForSentences) {
  EXPECT_EQ(describe_bytes(123_B), "123 B");
  EXPECT_EQ(describe_bytes(1536_KiB), "1.5 MiB");
  EXPECT_EQ(describe_seconds(Seconds{12.34e-6}), "12.3 us");
  EXPECT_EQ(describe_seconds(Seconds{28e-6}), "28.0 us");
  EXPECT_EQ(describe_seconds(Seconds{4.56e-3}), "4.560 ms");
  EXPECT_EQ(describe_seconds(Seconds{2}), "2.000 s");
  EXPECT_EQ(describe_seconds(Seconds{0}), "0.00 us");
  EXPECT_EQ(describe_seconds(Seconds::infinity()), "never");
  EXPECT_EQ(describe_bandwidth(393_GBps), "393 GB/s");
  EXPECT_EQ(describe_bandwidth({8.25e9}), "8.25 GB/s");
}

TEST(Describe, NeverTurnsScientific) {
  // With three significant digits 999.6 is 1e+03 for printf; people read 1000.
  EXPECT_EQ(describe_seconds(Seconds{999.6e-6}), "1000 us");
  EXPECT_EQ(describe_seconds(Seconds{123456}), "123456 s");
  EXPECT_EQ(describe_bandwidth({2.5e12}), "2500 GB/s");
}

TEST(ValidText, KeepsWhatEverybodyCanShow) {
  for (const char* text : {"", "a b\nc", "grün", "€ 5", "😀"}) EXPECT_EQ(valid_text(text), text);
}

TEST(ValidText, ReplacesWhatNobodyCan) {
  EXPECT_EQ(valid_text("a\x01\tb\x7f"), "a??b?");
  EXPECT_EQ(valid_text("gr\xc3"), "gr\ufffd") << "cut off";
  EXPECT_EQ(valid_text("\xff"), "\ufffd");
  for (const char* text : {"\xe2\x82", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"})
    EXPECT_EQ(valid_text(text).substr(0, 3), "\ufffd");
}

TEST(Split, KeepsEmptyPartsAndTrims) {
  EXPECT_THAT(split("a, b,,c ", ','), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

TEST(Join, PutsTheSeparatorBetween) {
  EXPECT_EQ(join({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(join({}, ", "), "");
}

}  // namespace
}  // namespace polypath::test::text_test
