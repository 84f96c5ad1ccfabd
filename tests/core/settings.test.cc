#include "core/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "support/errors.h"
#include "support/random.h"

namespace polypath {
namespace {

using test::expect_error;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Variables = std::map<std::string, std::string>;

Settings read(const Variables& variables) {
  return read_settings([&](const std::string& variable) {
    const auto found = variables.find(variable);
    return found == variables.end() ? std::string() : found->second;
  });
}

// The setting is refused; the message names it, its value and what it may be.
void expect_refused(const std::string& variable, const std::string& value,
                    const std::string& allowed) {
  expect_error(
      ErrorCode::invalid_setting,
      [&] {
        read({{variable, value}});
      },
      variable, "'" + value + "'", allowed);
}

TEST(Settings, HaveTheirDefaultsWithoutAnEnvironment) {
  const Settings settings = read({});

  EXPECT_EQ(settings.machine, "");
  EXPECT_THAT(settings.include, IsEmpty());
  EXPECT_THAT(settings.exclude, IsEmpty());
  EXPECT_EQ(settings.max_paths, 16);
  EXPECT_EQ(settings.min_message, 2_MiB);
  EXPECT_EQ(settings.min_chunk, 64_KiB);
  EXPECT_EQ(settings.staging_slot, 8_MiB);
  EXPECT_EQ(settings.staging_slots, 4);
  EXPECT_EQ(settings.min_gain, 0.03);
  EXPECT_EQ(settings.executor, "auto");
  EXPECT_EQ(settings.graph_after, 2);
  EXPECT_EQ(settings.graph_cache, 64);
  EXPECT_EQ(settings.plan_cache, 1024);
  EXPECT_EQ(settings.pageable_min, 2_MiB);
  EXPECT_EQ(settings.pageable_window, 32_MiB);
  EXPECT_EQ(settings.pageable_windows, 3);
  EXPECT_EQ(settings.copy_threads, 0);
  EXPECT_EQ(settings.tuned, "");
  EXPECT_EQ(settings.log_level, "warning");
  EXPECT_FALSE(settings.statistics);
}

TEST(Settings, AreAllReadFromTheirVariables) {
  const Settings settings = read({{"POLYPATH_MACHINE", "beluga"},
                                  {"POLYPATH_PATHS", "gpu2, host"},
                                  {"POLYPATH_EXCLUDE", "gpu3"},
                                  {"POLYPATH_MAX_PATHS", "3"},
                                  {"POLYPATH_MIN_MESSAGE", "5M"},
                                  {"POLYPATH_MIN_CHUNK", "4K"},
                                  {"POLYPATH_STAGING_SLOT", "16K"},
                                  {"POLYPATH_STAGING_SLOTS", "8"},
                                  {"POLYPATH_MIN_GAIN", "0.5"},
                                  {"POLYPATH_EXECUTOR", "graph"},
                                  {"POLYPATH_GRAPH_AFTER", "7"},
                                  {"POLYPATH_GRAPH_CACHE", "5"},
                                  {"POLYPATH_PLAN_CACHE", "6"},
                                  {"POLYPATH_PAGEABLE_MIN", "3M"},
                                  {"POLYPATH_PAGEABLE_WINDOW", "16M"},
                                  {"POLYPATH_PAGEABLE_WINDOWS", "4"},
                                  {"POLYPATH_COPY_THREADS", "9"},
                                  {"POLYPATH_TUNED", "tuned.json"},
                                  {"POLYPATH_LEDGER", "0"},
                                  {"POLYPATH_LOG", "debug"},
                                  {"POLYPATH_STATS", "1"}});

  EXPECT_EQ(settings.machine, "beluga");
  EXPECT_THAT(settings.include, ElementsAre("gpu2", "host"));
  EXPECT_THAT(settings.exclude, ElementsAre("gpu3"));
  EXPECT_EQ(settings.max_paths, 3);
  EXPECT_EQ(settings.min_message, 5_MiB);
  EXPECT_EQ(settings.min_chunk, 4_KiB);
  EXPECT_EQ(settings.staging_slot, 16_KiB);
  EXPECT_EQ(settings.staging_slots, 8);
  EXPECT_EQ(settings.min_gain, 0.5);
  EXPECT_EQ(settings.executor, "graph");
  EXPECT_EQ(settings.graph_after, 7);
  EXPECT_EQ(settings.graph_cache, 5);
  EXPECT_EQ(settings.plan_cache, 6);
  EXPECT_EQ(settings.pageable_min, 3_MiB);
  EXPECT_EQ(settings.pageable_window, 16_MiB);
  EXPECT_EQ(settings.pageable_windows, 4);
  EXPECT_EQ(settings.copy_threads, 9);
  EXPECT_EQ(settings.tuned, "tuned.json");
  EXPECT_EQ(settings.log_level, "debug");
  EXPECT_TRUE(settings.statistics);
}

// What is shown for a setting can be given back as its value.
TEST(Settings, ReadWhatTheyShow) {
  const Settings settings = read({{"POLYPATH_PATHS", "gpu2,host"},
                                  {"POLYPATH_MIN_MESSAGE", "1536"},
                                  {"POLYPATH_MIN_GAIN", "0.125"},
                                  {"POLYPATH_LOG", "off"},
                                  {"POLYPATH_STATS", "1"}});
  Variables shown;

  for (const SettingDescription& setting : describe_settings(settings))
    shown[setting.variable] = setting.value;
  const std::vector<SettingDescription> again = describe_settings(read(shown));

  ASSERT_EQ(again.size(), shown.size());
  for (const SettingDescription& setting : again)
    EXPECT_EQ(setting.value, shown[setting.variable]) << setting.variable;
}

TEST(Settings, AreDescribedWithDefaultAndMeaning) {
  const std::vector<SettingDescription> all =
      describe_settings(read({{"POLYPATH_MAX_PATHS", "2"}}));

  EXPECT_EQ(all.size(), 26U);
  for (const SettingDescription& setting : all) {
    EXPECT_THAT(setting.variable, testing::StartsWith("POLYPATH_"));
    EXPECT_THAT(setting.meaning, testing::Not(IsEmpty()));
    const bool changed = setting.variable == "POLYPATH_MAX_PATHS";
    EXPECT_EQ(setting.value == setting.default_value, !changed) << setting.variable;
  }
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
  expect_refused("POLYPATH_STATS", "yes", "0 or 1");
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

TEST(Settings, TakeAnEmptyVariableForAnUnsetOne) {
  EXPECT_EQ(read({{"POLYPATH_MAX_PATHS", ""}}).max_paths, 16);
}

// Sets a variable of the process for one test.
class ProcessVariable {
 public:
  ProcessVariable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ProcessVariable(const ProcessVariable&) = delete;
  ProcessVariable& operator=(const ProcessVariable&) = delete;
  ~ProcessVariable() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(ProcessSettings, AreReadFromTheEnvironment) {
  const ProcessVariable paths("POLYPATH_MAX_PATHS", "2");

  EXPECT_EQ(read_settings().max_paths, 2);
}

TEST(ProcessSettings, RefuseAVariableThatIsNoSetting) {
  const ProcessVariable misspelt("POLYPATH_MAX_PATH", "2");

  expect_error(
      ErrorCode::invalid_setting, [] { read_settings(); }, "POLYPATH_MAX_PATH is not",
      "POLYPATH_MAX_PATHS", "POLYPATH_STAGING_SLOT");
}

// --- anything at all ---

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
}  // namespace polypath
