// What was learnt, from one process to the next.

#include "context/experience_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "machine/load_machine.h"
#include "support/errors.h"

namespace polypath::test::experience_file_test {
namespace {

class ExperienceFileTest : public testing::Test {
 protected:
  ExperienceFileTest() {
    std::string folder = testing::TempDir() + "learnt.XXXXXX";
    folder_ = ::mkdtemp(folder.data());
    ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    kind_ = {.source = machine_.find_place("gpu0"),
             .destination = machine_.find_place("gpu1"),
             .size = 64_MiB};
    learnt_ = {.split = {.shares = {{"direct", 0.75}, {"gpu2", 0.25}}, .chunks = 1.5},
               .paths = 400_us,
               .native = 500_us,
               .transfers = 60};
  }
  ~ExperienceFileTest() override {
    ::unsetenv("XDG_CACHE_HOME");
    std::filesystem::remove_all(folder_);
  }

  [[nodiscard]] std::string path() const { return experience_path(machine_, "sim"); }
  [[nodiscard]] std::shared_ptr<ExperienceKeeper> open() const {
    return open_experience_file(machine_, "sim");
  }
  void write(const std::string& text) const { std::ofstream(path()) << text; }

  Machine machine_ = load_machine("beluga");
  std::string folder_;
  TransferKind kind_;
  Learnt learnt_;
};

TEST_F(ExperienceFileTest, WhatIsKeptIsReadAgain) {
  open()->keep({{kind_, learnt_}});

  const LearntKinds read = open()->read();

  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read.front().first, kind_);
  EXPECT_EQ(read.front().second.split, learnt_.split);
  EXPECT_FALSE(read.front().second.natively);
  EXPECT_EQ(read.front().second.paths, learnt_.paths);
  EXPECT_EQ(read.front().second.native, learnt_.native);
}

TEST_F(ExperienceFileTest, WhatOthersHaveKeptStays) {
  TransferKind other = kind_;
  other.size = 8_MiB;
  const auto first = open(), second = open();

  first->keep({{kind_, learnt_}});
  second->keep({{other, learnt_}});

  EXPECT_EQ(open()->read().size(), 2U);
}

TEST_F(ExperienceFileTest, WhereThereIsNoFileNothingIsKnown) {
  EXPECT_TRUE(open()->read().empty());
}

TEST_F(ExperienceFileTest, OtherNumbersOfTheMachineMakeItWorthless) {
  open()->keep({{kind_, learnt_}});
  machine_.hops.front().latency = machine_.hops.front().latency * 2;

  EXPECT_TRUE(open()->read().empty());
}

TEST_F(ExperienceFileTest, ADamagedFileIsIgnoredAndReplaced) {
  open()->keep({{kind_, learnt_}});
  for (const char* text : {"", "{", "[]", R"({"schema": 3})", "\xff\xfe"}) {
    write(text);
    EXPECT_TRUE(open()->read().empty()) << text;
  }

  open()->keep({{kind_, learnt_}});

  EXPECT_EQ(open()->read().size(), 1U);
}

TEST_F(ExperienceFileTest, WrongValuesAreRefused) {
  const std::string text = experience_to_json(machine_, {{kind_, learnt_}});
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return changed;
  };
  const std::vector<std::string> wrong = {with("\"gpu0\"", "\"gpu99\""),
                                          with("0.75", "0.7"),
                                          with("0.75", "-0.75"),
                                          with("1.5", "0"),
                                          with("1.5", "1e300"),
                                          with("67108864", "0"),
                                          with("\"natively\": false", "\"natively\": 0")};

  for (const std::string& each : wrong)
    expect_error(
        ErrorCode::invalid_machine, [&] { (void)parse_experience(each, machine_, "mine.json"); },
        "mine.json");
}

TEST_F(ExperienceFileTest, WhereNothingCanBeWrittenNothingFails) {
  std::filesystem::create_directories(path());  // a folder in its place

  open()->keep({{kind_, learnt_}});

  EXPECT_TRUE(open()->read().empty());
}

}  // namespace
}  // namespace polypath::test::experience_file_test
