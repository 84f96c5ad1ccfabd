// What searches for plans found, from one process to the next.

#include "context/plan_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "machine/load_machine.h"
#include "support/errors.h"

namespace polypath::test::plan_file_test {
namespace {

class PlanFileTest : public testing::Test {
 protected:
  PlanFileTest() {
    std::string folder = testing::TempDir() + "plans.XXXXXX";
    folder_ = ::mkdtemp(folder.data());
    ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  ~PlanFileTest() override {
    ::unsetenv("XDG_CACHE_HOME");
    std::filesystem::remove_all(folder_);
  }

  // One recipe per executor, the size from which on it pays, and a set.
  [[nodiscard]] FoundPlans search(Bytes bytes = 64_MiB) const {
    Planner planner(machine_, settings_);
    JointPlanner joint(planner);
    (void)planner.plan(gpu0_, gpu1_, bytes);
    (void)planner.smallest_planned(gpu0_, gpu1_, 1_MiB);
    (void)joint.plan({{gpu0_, gpu1_, bytes}, {gpu1_, gpu0_, 16_MiB}},
                     {.issuers = Issuers::threads, .queues = true, .executor = Executor::stream});
    FoundPlans found;
    planner.add_found(found);
    joint.add_found(found);
    return found;
  }
  [[nodiscard]] std::shared_ptr<PlanKeeper> open() const {
    return open_plan_file(machine_, "sim", settings_);
  }
  [[nodiscard]] std::string path() const { return plan_file_path(machine_, "sim"); }
  void write(const std::string& text) const { std::ofstream(path()) << text; }

  Machine machine_ = load_machine("mist");
  PlaceId gpu0_ = machine_.find_place("gpu0"), gpu1_ = machine_.find_place("gpu1");
  Settings settings_;
  std::string folder_;
};

TEST_F(PlanFileTest, WhatIsKeptIsReadAgainToTheLastBit) {
  const FoundPlans found = search();

  open()->keep(found);
  const FoundPlans read = open()->read();

  EXPECT_GE(found.recipes.size(), 2U);
  EXPECT_EQ(found_plans_to_json(machine_, settings_, read),
            found_plans_to_json(machine_, settings_, found));
  ASSERT_EQ(read.sets.size(), 1U);
  EXPECT_TRUE(read.sets.front().options.queues);
  ASSERT_EQ(read.sets.front().splits.size(), 2U);
  const FoundSplit& before = found.sets.front().splits.front();
  const FoundSplit& after = read.sets.front().splits.front();
  ASSERT_EQ(after.size(), before.size());
  EXPECT_EQ(after.front().share, before.front().share);
}

TEST_F(PlanFileTest, NothingIsSearchedForAgain) {
  open()->keep(search());
  Planner planner(machine_, settings_);
  JointPlanner joint(planner);

  planner.recall(open()->read());
  joint.recall(open()->read());
  (void)planner.plan(gpu0_, gpu1_, 64_MiB);
  (void)joint.plan({{gpu0_, gpu1_, 64_MiB}, {gpu1_, gpu0_, 16_MiB}},
                   {.issuers = Issuers::threads, .queues = true, .executor = Executor::stream});

  EXPECT_EQ(planner.searches(), 0U);
  EXPECT_EQ(joint.searches(), 0U);
}

TEST_F(PlanFileTest, WhatOthersHaveKeptStays) {
  const auto first = open(), second = open();

  first->keep(search(64_MiB));
  second->keep(search(8_MiB));

  EXPECT_EQ(open()->read().sets.size(), 2U);
}

TEST_F(PlanFileTest, OtherNumbersOfTheMachineMakeItWorthless) {
  open()->keep(search());
  machine_.hops.front().latency = machine_.hops.front().latency * 2;

  EXPECT_TRUE(open()->read().empty());
}

TEST_F(PlanFileTest, OtherSettingsMakeItWorthless) {
  open()->keep(search());
  const auto read_with = [&](auto change) {
    Settings other = settings_;
    change(other);
    return open_plan_file(machine_, "sim", other)->read();
  };

  EXPECT_TRUE(read_with([](Settings& s) { s.exclude = {"gpu2"}; }).empty());
  EXPECT_TRUE(read_with([](Settings& s) { s.include = {"gpu2"}; }).empty());
  EXPECT_TRUE(read_with([](Settings& s) { s.max_paths = 2; }).empty());
  EXPECT_TRUE(read_with([](Settings& s) { s.min_message = 1_MiB; }).empty());
  EXPECT_TRUE(read_with([](Settings& s) { s.min_chunk = 128_KiB; }).empty());
  EXPECT_TRUE(read_with([](Settings& s) { s.staging_slot = 4_MiB; }).empty());
  EXPECT_TRUE(read_with([](Settings& s) { s.staging_slots = 5; }).empty());
  EXPECT_TRUE(read_with([](Settings& s) { s.min_gain = 0.1; }).empty());
  EXPECT_FALSE(read_with([](Settings& s) { s.lanes = 2; }).empty());
}

TEST_F(PlanFileTest, WithATableOfPlansNothingIsKept) {
  settings_.tuned = "mine.json";

  EXPECT_EQ(open(), nullptr);
}

TEST_F(PlanFileTest, AnotherRevisionOfThePlannerMakesItWorthless) {
  std::string text = found_plans_to_json(machine_, settings_, search());
  const std::string planner = "\"planner\":\"";
  text.insert(text.find(planner) + planner.size(), "other-");

  EXPECT_TRUE(parse_found_plans(text, machine_, settings_, "mine.json").empty());
}

TEST_F(PlanFileTest, ADamagedFileIsIgnoredAndReplaced) {
  const FoundPlans found = search();
  open()->keep(found);
  for (const char* text : {"", "{", "[]", R"({"schema": 3})", "\xff\xfe"}) {
    write(text);
    EXPECT_TRUE(open()->read().empty()) << text;
  }

  open()->keep(found);

  EXPECT_EQ(open()->read().sets.size(), 1U);
}

TEST_F(PlanFileTest, WrongValuesAreRefused) {
  const std::string text = found_plans_to_json(machine_, settings_, search());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return changed;
  };
  const std::vector<std::string> wrong = {
      with("\"gpu0\"", "\"gpu99\""),
      with("\"direct\"", "\"gpu0\""),
      with("\"taper\":0", "\"taper\":7"),
      with("\"executor\":\"stream\"", "\"executor\":\"rocket\""),
      with("\"both_ways\":\"no\"", "\"both_ways\":\"yes\""),
      with("\"issuers\":\"threads\"", "\"issuers\":\"nobody\""),
      with("\"queues\":true", "\"queues\":1")};

  for (const std::string& each : wrong)
    EXPECT_THROW((void)parse_found_plans(each, machine_, settings_, "mine.json"), Error);
}

TEST_F(PlanFileTest, NoMoreIsKeptThanThereIsRoomFor) {
  const FoundSplit split = search().recipes.front().split;
  FoundPlans many;
  for (std::uint64_t size = 1; size <= 300; ++size)
    many.recipes.push_back(
        {.source = gpu0_, .destination = gpu1_, .size = {size << 20}, .split = split});

  open()->keep(many);

  EXPECT_EQ(open()->read().recipes.size(), 256U);
}

TEST_F(PlanFileTest, WhereNothingCanBeWrittenNothingFails) {
  std::filesystem::create_directories(path());  // a folder in its place

  open()->keep(search());

  EXPECT_TRUE(open()->read().empty());
}

}  // namespace
}  // namespace polypath::test::plan_file_test
