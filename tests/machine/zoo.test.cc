// The zoo: every file loads, says where its numbers are from, and has the hops that plans need.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "core/error.h"
#include "machine/equal.h"
#include "machine/load_machine.h"
#include "support/source_path.h"

namespace polypath::test::zoo_test {
namespace {

class Zoo : public testing::TestWithParam<std::string> {};

TEST_P(Zoo, LoadsUnderItsOwnName) {
  const Machine machine = load_machine(GetParam());

  EXPECT_EQ(machine.name, GetParam());
  EXPECT_FALSE(machine.description.empty());
  validate(machine);
}

TEST_P(Zoo, RoundTripsThroughJson) {
  const Machine machine = load_machine(GetParam());

  const Machine again = parse_machine(machine_to_json(machine), "round trip");

  expect_equal(machine, again);
}

TEST_P(Zoo, JoinsEveryPairOfGpusAndEveryGpuWithEveryHost) {
  const Machine machine = load_machine(GetParam());

  for (const PlaceId gpu : machine.places_of(PlaceKind::gpu)) {
    for (const PlaceId other : machine.places_of(PlaceKind::gpu))
      EXPECT_EQ(machine.find_hop(gpu, other).has_value(), gpu != other);
    for (const PlaceId host : machine.places_of(PlaceKind::host)) {
      EXPECT_TRUE(machine.find_hop(gpu, host).has_value());
      EXPECT_TRUE(machine.find_hop(host, gpu).has_value());
    }
  }
}

TEST_P(Zoo, EveryResourceIsUsedBySomeHopOrTheNetwork) {
  const Machine machine = load_machine(GetParam());

  std::set<ResourceId> used;
  for (const Hop& hop : machine.hops)
    for (const Use& use : hop.uses) used.insert(use.resource);
  if (machine.network)
    for (const NetworkEnd& end : machine.network->ends)
      for (const auto& uses : {end.out, end.in})
        for (const Use& use : uses) used.insert(use.resource);

  EXPECT_EQ(used.size(), machine.resources.size());
}

TEST_P(Zoo, HostIsTheFirstHostPlace) {
  const Machine machine = load_machine(GetParam());

  const PlaceId host = machine.find_place("host");

  EXPECT_EQ(machine.place(host).name, "host0");
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Machines, Zoo, testing::ValuesIn(zoo_names()), test_name);

TEST(ZooNames, AreTheFilesOfTheMachinesFolder) {
  std::vector<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(test::source_path("machines")))
    if (file.path().filename() != "schema.json") files.push_back(file.path().stem());

  const std::vector<std::string> names = zoo_names();

  EXPECT_THAT(names, testing::UnorderedElementsAreArray(files));
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

TEST(LoadMachine, ReadsAFileByItsPath) {
  const Machine machine = load_machine(test::source_path("machines/beluga.json"));

  expect_equal(machine, load_machine("beluga"));
}

// The page promises that someone can write a file by hand from its example.
TEST(ParseMachine, ReadsTheExampleOfTheDocumentation) {
  std::ifstream file(test::source_path("docs/machines.md"));
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const auto begin = page.find("```json\n") + 8;

  const Machine machine =
      parse_machine(page.substr(begin, page.find("```", begin) - begin), "docs");

  EXPECT_EQ(machine.name, "pair");
  EXPECT_EQ(machine.hops.size(), 6U);
}

TEST(LoadMachine, ListsTheZooForAnUnknownName) {
  try {
    load_machine("belgua");
    FAIL() << "an unknown name must not load";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.what(), testing::HasSubstr("machine 'belgua' is unknown"));
    EXPECT_THAT(error.what(), testing::HasSubstr("beluga"));
  }
}

TEST(LoadMachine, RefusesWhatIsNotAReadableFile) {
  for (const char* path : {"/nowhere/at/all.json", "/tmp/", "/dev/zero", "missing.json"}) {
    try {
      load_machine(path);
      FAIL() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << path;
      EXPECT_THAT(error.what(), testing::HasSubstr(path));
    }
  }
}

TEST(LoadMachine, RefusesASyntheticNameWithoutSeed) {
  for (const char* name : {"synthetic:", "synthetic:x", "synthetic:-1", "synthetic:1x",
                           "synthetic:99999999999999999999"})
    EXPECT_THROW(load_machine(name), Error) << name;
}

}  // namespace
}  // namespace polypath::test::zoo_test
