#include "core/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/settings_of.h"
#include "support/errors.h"

namespace polypath::test::settings_test {
namespace {

using test::expect_error;
using test::read;
using test::Variables;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Settings, HaveTheirDefaultsWithoutAnEnvironment) {
  const Settings settings = read({});

  EXPECT_EQ(settings.machine, "");
  EXPECT_THAT(settings.include, IsEmpty());
  EXPECT_THAT(settings.exclude, IsEmpty());
  EXPECT_EQ(settings.max_paths, 16);
  EXPECT_EQ(settings.min_message, std::nullopt);
  EXPECT_EQ(settings.min_chunk, 64_KiB);
  EXPECT_EQ(settings.staging_slot, 16_MiB);
  EXPECT_EQ(settings.staging_slots, 3);
  EXPECT_EQ(settings.min_gain, 0.03);
  EXPECT_EQ(settings.executor, "auto");
  EXPECT_EQ(settings.graph_after, std::nullopt);
  EXPECT_EQ(settings.graph_cache, 64);
  EXPECT_EQ(settings.plan_cache, 1024);
  EXPECT_EQ(settings.pageable_min, 2_MiB);
  EXPECT_EQ(settings.pageable_window, 16_MiB);
  EXPECT_EQ(settings.pageable_windows, 3);
  EXPECT_EQ(settings.copy_threads, 0);
  EXPECT_EQ(settings.communicator_timeout, 600);
  EXPECT_EQ(settings.tuned, "");
  EXPECT_EQ(settings.log_level, "warning");
  EXPECT_FALSE(settings.statistics.wanted);
}

TEST(Settings, AreAllReadFromTheirVariables) {
  const Settings settings =
      read({{"POLYPATH_MACHINE", "beluga"},      {"POLYPATH_PATHS", "gpu2, host"},
            {"POLYPATH_EXCLUDE", "gpu3"},        {"POLYPATH_MAX_PATHS", "3"},
            {"POLYPATH_MIN_MESSAGE", "5M"},      {"POLYPATH_MIN_CHUNK", "4K"},
            {"POLYPATH_STAGING_SLOT", "16K"},    {"POLYPATH_STAGING_SLOTS", "8"},
            {"POLYPATH_MIN_GAIN", "0.5"},        {"POLYPATH_EXECUTOR", "graph"},
            {"POLYPATH_GRAPH_AFTER", "7"},       {"POLYPATH_GRAPH_CACHE", "5"},
            {"POLYPATH_PLAN_CACHE", "6"},        {"POLYPATH_PAGEABLE_MIN", "3M"},
            {"POLYPATH_PAGEABLE_WINDOW", "16M"}, {"POLYPATH_PAGEABLE_WINDOWS", "4"},
            {"POLYPATH_COPY_THREADS", "9"},      {"POLYPATH_COMMUNICATOR_TIMEOUT", "1.5"},
            {"POLYPATH_TUNED", "tuned.json"},    {"POLYPATH_LEARN", "0"},
            {"POLYPATH_KEEP_PLANS", "0"},        {"POLYPATH_LEDGER", "0"},
            {"POLYPATH_LOG", "debug"},           {"POLYPATH_STATS", "1"},
            {"POLYPATH_TRACE", "trace.json"},    {"POLYPATH_NVTX", "1"}});

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
  EXPECT_FALSE(settings.learn);
  EXPECT_FALSE(settings.keep_plans);
  EXPECT_EQ(settings.pageable_min, 3_MiB);
  EXPECT_EQ(settings.pageable_window, 16_MiB);
  EXPECT_EQ(settings.pageable_windows, 4);
  EXPECT_EQ(settings.copy_threads, 9);
  EXPECT_EQ(settings.communicator_timeout, 1.5);
  EXPECT_EQ(settings.tuned, "tuned.json");
  EXPECT_EQ(settings.log_level, "debug");
  EXPECT_TRUE(settings.statistics.wanted);
  EXPECT_EQ(settings.trace, "trace.json");
  EXPECT_TRUE(settings.nvtx);
}

// What is shown for a setting can be given back as its value.
TEST(Settings, ReadWhatTheyShow) {
  const Settings settings = read({{"POLYPATH_PATHS", "gpu2,host"},
                                  {"POLYPATH_MIN_MESSAGE", "1536"},
                                  {"POLYPATH_MIN_GAIN", "0.125"},
                                  {"POLYPATH_LOG", "off"},
                                  {"POLYPATH_STATS", "/tmp/kept"}});
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

  EXPECT_EQ(all.size(), 42U);
  for (const SettingDescription& setting : all) {
    EXPECT_THAT(setting.variable, testing::StartsWith("POLYPATH_"));
    EXPECT_THAT(setting.meaning, testing::Not(IsEmpty()));
    const bool changed = setting.variable == "POLYPATH_MAX_PATHS";
    EXPECT_EQ(setting.value == setting.default_value, !changed) << setting.variable;
  }
}

TEST(Settings, AFolderOfStatisticsIsKept) {
  const Settings settings = read({{"POLYPATH_STATS", "./kept"}});

  EXPECT_TRUE(settings.statistics.wanted);
  EXPECT_EQ(settings.statistics.folder, "./kept");
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
      ErrorCode::invalid_setting, [] { read_settings(); },
      "POLYPATH_MAX_PATH is not a setting (POLYPATH_MAX_PATHS is one)", "info --settings");
}

TEST(ProcessSettings, SayWhereNoNameIsLikeIt) {
  const ProcessVariable strange("POLYPATH_QUICKLY", "1");

  expect_error(
      ErrorCode::invalid_setting, [] { read_settings(); },
      "POLYPATH_QUICKLY is not a setting (none has a name like it)");
}

}  // namespace
}  // namespace polypath::test::settings_test
