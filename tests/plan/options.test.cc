// What people write for shares, chunk counts and executors.

#include "plan/options.h"

#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/random.h"

namespace polypath::options_test {
namespace {

using Shares = std::map<std::string, double>;
using Chunks = std::map<std::string, int>;
using test::expect_invalid_argument;

TEST(ParseExecutor, ReadsEveryName) {
  EXPECT_EQ(parse_executor("auto"), std::nullopt);
  EXPECT_EQ(parse_executor("native"), Executor::native);
  EXPECT_EQ(parse_executor("stream"), Executor::stream);
  EXPECT_EQ(parse_executor("graph"), Executor::graph);
}

TEST(ParseExecutor, ListsTheNamesForAnUnknownOne) {
  for (const std::string name : {"", "Graph", "streams", "auto "})
    expect_invalid_argument([&] { parse_executor(name); }, "'" + name + "'",
                            "auto, native, stream and graph");
}

TEST(ParseShares, ReadsOneAndSeveral) {
  EXPECT_EQ(parse_shares("direct=1"), (Shares{{"direct", 1}}));
  EXPECT_EQ(parse_shares("direct=0.75,host=.25"), (Shares{{"direct", 0.75}, {"host", 0.25}}));
  EXPECT_EQ(parse_shares("gpu2=2.5e-1"), (Shares{{"gpu2", 0.25}}));
}

TEST(ParseShares, IgnoresBlanksAroundTheParts) {
  EXPECT_EQ(parse_shares(" direct=0.5 , host=0.5 "), (Shares{{"direct", 0.5}, {"host", 0.5}}));
}

TEST(ParseShares, QuotesThePartThatCannotBeRead) {
  for (const std::string part :
       {"", "direct", "direct=", "=0.5", "direct=x", "direct=0.5x", "direct=0,5", "direct==1"})
    expect_invalid_argument([&] { parse_shares("host=0.5," + part); }, "share '", "PATH=NUMBER",
                            "direct=0.9,host=0.1");
}

TEST(ParseShares, RefusesWhatFollowsAnEmbeddedZero) {
  using namespace std::string_literals;

  expect_invalid_argument([] { parse_shares("direct=1\0junk"s); }, "share 'direct=1");
  expect_invalid_argument([] { parse_chunks("host=1\0junk"s); }, "chunk count 'host=1");
}

TEST(ParseShares, RefusesAPathNamedTwice) {
  expect_invalid_argument([] { parse_shares("direct=0.5,host=0.2,direct=0.3"); }, "'direct=0.3'",
                          "twice");
}

TEST(ParseChunks, ReadsOneAndSeveral) {
  EXPECT_EQ(parse_chunks("host=8"), (Chunks{{"host", 8}}));
  EXPECT_EQ(parse_chunks("host=8,gpu2=4"), (Chunks{{"host", 8}, {"gpu2", 4}}));
}

TEST(ParseChunks, QuotesThePartThatIsNoWholeNumber) {
  for (const std::string part : {"host=1.5", "host=8k", "host", "host=99999999999", "host= 8"})
    expect_invalid_argument([&] { parse_chunks("gpu2=4," + part); }, "chunk count '" + part + "'",
                            "host=8,gpu2=4");
}

// A string of pieces that are close to what is read.
std::string random_text(test::Random& random) {
  static const std::vector<std::string> kPieces = {"direct",
                                                   "host",
                                                   "gpu2",
                                                   "=",
                                                   ",",
                                                   ".",
                                                   "0",
                                                   "1",
                                                   "-",
                                                   "+",
                                                   "e",
                                                   "inf",
                                                   "nan",
                                                   " ",
                                                   "\n",
                                                   "\xff",
                                                   "{}",
                                                   std::string(1, '\0'),
                                                   "99999999999999999999"};
  std::string text;
  const int count = random.integer(0, 12);
  for (int i = 0; i < count; ++i) text += random.pick(kPieces);
  return text;
}

// True if `parse` returns; false if it throws an Error of the right code. Others pass through.
template <class Parse>
bool reads(Parse parse, const std::string& text) {
  try {
    parse(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return false;
  }
  return true;
}

TEST(ParseOptions, RandomTextIsReadOrRefused) {
  test::Random random(1);
  int read = 0;

  for (int round = 0; round < 20000; ++round) {
    const std::string text = random_text(random);
    read += reads(parse_shares, text);
    read += reads(parse_chunks, text);
    reads(parse_executor, text);
  }

  EXPECT_GT(read, 0);
}

}  // namespace
}  // namespace polypath::options_test
