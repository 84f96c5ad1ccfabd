// What is read of a stranger's document, and where complaints about it point.

#include <gtest/gtest.h>

#include "core/json_reader.json.h"
#include "support/errors.h"

namespace polypath::test::json_reader_test {
namespace {

using test::expect_error;

const JsonComplaint kComplaint{"a letter", ErrorCode::invalid_setting, "Write it anew."};

template <class Read>
void expect_refused(const char* text, Read read, const std::string& message) {
  SCOPED_TRACE(text);
  expect_error(
      ErrorCode::invalid_setting,
      [&] {
        const JsonDocument document(text, kComplaint);
        read(document.root());
      },
      message);
}

TEST(JsonReader, SaysProblemReasonAndRemedy) {
  expect_refused(
      R"({"sizes": [1, 2.5]})",
      [](const JsonField& all) { (void)all.at("sizes").elements(2)[1].count(1); },
      "a letter: /sizes/1 is 2.5 (a whole number of at least 1 belongs here) Write it anew.");
  expect_refused(
      "[]", [](const JsonField& all) { (void)all.at("size"); },
      "a letter is of type array (an object { ... } belongs here) Write it anew.");
}

TEST(JsonReader, TakesNullForAnAbsentMember) {
  const JsonDocument document(R"({"there": 1, "null": null})", kComplaint);
  const JsonField all = document.root();

  EXPECT_TRUE(all.find("there"));
  EXPECT_FALSE(all.find("null"));
  EXPECT_FALSE(all.find("absent"));
}

TEST(JsonReader, CountsUpTo64Bits) {
  const JsonDocument document(R"([18446744073709551615, 7])", kComplaint);
  const auto numbers = document.root().elements(2);

  EXPECT_EQ(numbers[0].count(0), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(numbers[1].count(7, 7), 7U);
  expect_refused(
      "8", [](const JsonField& all) { (void)all.count(1, 7); }, "a whole number from 1 to 7");
  expect_refused(
      "-1", [](const JsonField& all) { (void)all.count(0); }, "is -1");
}

TEST(JsonReader, ReadsNumbersByKey) {
  const JsonDocument document(R"({"direct": 0.25, "gpu2": 3})", kComplaint);

  EXPECT_EQ(document.root().numbers(),
            (std::map<std::string, double>{{"direct", 0.25}, {"gpu2", 3}}));
  expect_refused(R"({"gpu2": 0.5})", [](const JsonField& all) { (void)all.integers(1, 9); },
                 "a letter: /gpu2 is 0.5");
}

TEST(JsonReader, RefusesMoreThanItIsToldToRead) {
  expect_error(
      ErrorCode::invalid_setting, [] { const JsonDocument document("[1, 2]", kComplaint, 4_B); },
      "a letter has 6 bytes (at most 4 B are read)");
}

}  // namespace
}  // namespace polypath::test::json_reader_test
