// What people write for executors.

#include "plan/options.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace polypath::test::options_test {
namespace {

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

}  // namespace
}  // namespace polypath::test::options_test
