// Settings that are refused: the message names the variable, its value and what it may be.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/settings_of.h"
#include "support/errors.h"
#include "support/random.h"

namespace polypath::test::settings_refused_test {
namespace {

using test::expect_error;
using test::read;
using testing::HasSubstr;

void expect_refused(const std::string& variable, const std::string& value,
                    const std::string& allowed) {
  expect_error(
      ErrorCode::invalid_setting,
      [&] {
        read({{variable, value}});
      },
      variable, "'" + value + "'", allowed);
}

struct Bound {
  std::string variable;
  std::string least;
  std::string most;
  std::string too_small;
  std::string too_large;
};

class Bounds : public testing::TestWithParam<Bound> {};

INSTANTIATE_TEST_SUITE_P(
    Settings, Bounds,
    testing::Values(Bound{"POLYPATH_MAX_PATHS", "1", "16", "0", "17"},
                    Bound{"POLYPATH_STAGING_SLOTS", "2", "64", "1", "65"},
                    Bound{"POLYPATH_MIN_GAIN", "0", "10", "-0.1", "10.1"},
                    Bound{"POLYPATH_GRAPH_AFTER", "0", "1000000", "-1", "1000001"},
                    Bound{"POLYPATH_COMMUNICATOR_TIMEOUT", "0.001", "1000000", "0", "1000001"},
                    Bound{"POLYPATH_GIVE_BACK_AFTER", "0", "1000000", "-0.5", "1000001"},
                    Bound{"POLYPATH_PREPARE_AFTER", "0", "1000000000", "-1", "1000000001"},
                    Bound{"POLYPATH_GRAPH_CACHE", "1", "65536", "0", "65537"},
                    Bound{"POLYPATH_PLAN_CACHE", "1", "1048576", "0", "1048577"},
                    Bound{"POLYPATH_MIN_MESSAGE", "512", "1T", "0", "2T"}),
    [](const auto& info) { return info.param.variable; });

TEST_P(Bounds, AreAcceptedAndWhatLiesBeyondIsNot) {
  const auto& [variable, least, most, too_small, too_large] = GetParam();

  EXPECT_NO_THROW(read({{variable, least}}));
  EXPECT_NO_THROW(read({{variable, most}}));
  expect_refused(variable, too_small, "from ");
  expect_refused(variable, too_large, "from ");
}

TEST(Settings, RefuseWhatIsNoNumber) {
  for (const char* value : {"x", "3x", " 3", "+3", "3.5", "0x3", "99999999999999999999", "1e1"})
    expect_refused("POLYPATH_MAX_PATHS", value, "a number from 1 to 16");
  for (const char* value : {"x", "nan", "inf", "-inf", "1,5", "0.1.2"})
    expect_refused("POLYPATH_MIN_GAIN", value, "a number from 0 to 10");
}

TEST(Settings, RefuseSizesOutOfRangeOrNotOfWholeSectors) {
  expect_refused("POLYPATH_MIN_CHUNK", "511", "a multiple of 512 from 512 to 1G");
  expect_refused("POLYPATH_MIN_CHUNK", "513", "a multiple of 512");
  expect_refused("POLYPATH_STAGING_SLOT", "2K", "from 4K to 1G");
  expect_refused("POLYPATH_STAGING_SLOT", "2G", "from 4K to 1G");
  expect_refused("POLYPATH_MIN_MESSAGE", "1000", "a multiple of 512");
}

TEST(Settings, RefuseWhatIsNoSize) {
  for (const char* value : {"x", "-1", "1.5M", "1 M", "4Q"})
    expect_error(
        ErrorCode::invalid_setting,
        [&] {
          read({{"POLYPATH_MIN_CHUNK", value}});
        },
        "POLYPATH_MIN_CHUNK", value);
}

TEST(Settings, RefuseWordsThatAreNotOffered) {
  expect_refused("POLYPATH_EXECUTOR", "streams", "auto, native, stream, graph");
  expect_refused("POLYPATH_EXECUTOR", "Graph", "auto, native, stream, graph");
  expect_refused("POLYPATH_LOG", "loud", "off, error, warning, info, debug");
  expect_refused("POLYPATH_STATS", "yes", "0, 1 or a folder");
}

TEST(Settings, RefuseChunksThatDoNotFitASlot) {
  expect_error(
      ErrorCode::invalid_setting,
      [] {
        read({{"POLYPATH_MIN_CHUNK", "64K"}, {"POLYPATH_STAGING_SLOT", "32K"}});
      },
      "POLYPATH_MIN_CHUNK", "64K", "POLYPATH_STAGING_SLOT=32K");
  EXPECT_NO_THROW(read({{"POLYPATH_MIN_CHUNK", "32K"}, {"POLYPATH_STAGING_SLOT", "32K"}}));
}

std::string random_text(test::Random& random) {
  static const std::vector<std::string> kWords{"gpu0", "host", "direct", "=",  ",",  "auto", "1",
                                               "0.5",  "-",    "M",      " ",  "4K", "nan",  "1e99",
                                               "inf",  "512",  "\n",     "\"", "{}", "graph"};
  std::string text;
  for (std::size_t count = random.index(6); count > 0; --count)
    if (random.chance(70)) text += random.pick(kWords);
    else text += static_cast<char>(random.between(1, 255));
  return text;
}

TEST(Settings, AreValuesOrMessagesWhateverTheText) {
  std::vector<std::string> variables;
  for (const SettingDescription& setting : describe_settings({}))
    variables.push_back(setting.variable);
  test::Random random(20261121);

  for (int round = 0; round < 20000; ++round) {
    const std::string variable = random.pick(variables);
    const std::string text = random_text(random);
    try {
      const Settings settings = read({{variable, text}});
      EXPECT_GE(settings.max_paths, 1);
      EXPECT_LE(settings.min_chunk, settings.staging_slot);
      EXPECT_TRUE(settings.min_gain >= 0 && settings.min_gain <= 10);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_setting) << variable << "=" << text;
      EXPECT_THAT(error.what(), HasSubstr(variable)) << text;
    }
  }
}

}  // namespace
}  // namespace polypath::test::settings_refused_test
