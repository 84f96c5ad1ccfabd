// What a machine file may say, and what is said about a wrong one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::parse_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// A small sound file; each test spoils or extends one thing.
json sound() {
  return json::parse(R"({
    "schema": "polypath.machine/1", "name": "small", "description": "Two GPUs.",
    "sources": {"guess": "Assumption: a round number."},
    "places": [
      {"name": "gpu[0-1]", "kind": "gpu", "model": "G", "numa_node": "{index}",
       "staging_latency": {"value": 5, "unit": "us", "source": "guess"}},
      {"name": "host0", "kind": "host", "model": "H", "numa_node": 0,
       "staging_latency": {"value": 5000, "unit": "ns", "source": "guess"}}],
    "resources": [
      {"name": "gpu*.port", "kind": "port",
       "capacity": {"value": 100, "unit": "GB/s", "source": "guess"}},
      {"name": "gpu*.engine", "kind": "engine", "copies_at_once": 1}],
    "hops": [
      {"from": "gpu*", "to": "gpu*", "latency": {"value": 0.003, "unit": "ms", "source": "guess"},
       "bandwidth": {"value": 50000, "unit": "MB/s", "source": "guess"},
       "uses": ["{from}.engine", {"resource": "{to}.port", "weight": 2}]}],
    "costs": {}})");
}

json with_costs(json file) {
  for (const char* cost :
       {"copy", "event_record", "event_wait", "synchronize", "graph_launch", "graph_launch_node",
        "graph_instantiate", "graph_instantiate_node", "graph_update_node"})
    file["costs"][cost] = {{"value", 1}, {"unit", "us"}, {"source", "guess"}};
  return file;
}

std::string complaint_about(const std::string& text) {
  try {
    parse_machine(text, "mine.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_machine);
    return error.what();
  }
  return "no complaint";
}

// The complaint after the value at `pointer` is replaced by `value` (null removes it).
std::string complaint(const char* pointer, const json& value) {
  json file = with_costs(sound());
  const json::json_pointer where(pointer);
  if (value.is_null()) file[where.parent_pointer()].erase(where.back());
  else file[where] = value;
  return complaint_about(file.dump());
}

TEST(ParseMachine, ReadsUnitsAndExpandsPatterns) {
  const Machine machine = parse_machine(with_costs(sound()).dump(), "mine.json");

  ASSERT_EQ(machine.places.size(), 3U);
  EXPECT_EQ(machine.places[1].name, "gpu1");
  EXPECT_EQ(machine.places[1].numa_node, 1);
  EXPECT_DOUBLE_EQ(machine.places[2].staging_latency.value, 5e-6);
  ASSERT_EQ(machine.hops.size(), 2U);
  EXPECT_EQ(machine.hops[1].kind, HopKind::peer);
  EXPECT_DOUBLE_EQ(machine.hops[1].latency.value, 3e-6);
  EXPECT_DOUBLE_EQ(machine.hops[1].bandwidth.value, 50e9);
  ASSERT_EQ(machine.hops[1].uses.size(), 2U);
  EXPECT_EQ(machine.resource(machine.hops[1].uses[0].resource).name, "gpu1.engine");
  EXPECT_EQ(machine.resource(machine.hops[1].uses[1].resource).name, "gpu0.port");
  EXPECT_EQ(machine.hops[1].uses[1].weight, 2);
}

TEST(ParseMachine, ReadsGibibytes) {
  json file = with_costs(sound());
  file["hops"][0]["bandwidth"] = {{"value", 1}, {"unit", "GiB/s"}, {"source", "guess"}};

  const Machine machine = parse_machine(file.dump(), "mine.json");

  EXPECT_EQ(machine.hops[0].bandwidth.value, 1073741824.0);
}

TEST(ParseMachine, LetsALaterHopReplaceAnEarlierOne) {
  json file = with_costs(sound());
  json slow = file["hops"][0];
  slow["from"] = "gpu1";
  slow["bandwidth"]["value"] = 10000;
  slow["kind"] = "driver_staged";
  file["hops"].push_back(slow);

  const Machine machine = parse_machine(file.dump(), "mine.json");

  ASSERT_EQ(machine.hops.size(), 2U);
  EXPECT_DOUBLE_EQ(machine.hops[0].bandwidth.value, 50e9);
  EXPECT_DOUBLE_EQ(machine.hops[1].bandwidth.value, 10e9);
  EXPECT_EQ(machine.hops[1].kind, HopKind::driver_staged);
}

TEST(ParseMachine, RemovesAbsentHops) {
  json file = with_costs(sound());
  file["hops"].push_back({{"from", "gpu1"}, {"to", "gpu0"}, {"absent", true}});

  const Machine machine = parse_machine(file.dump(), "mine.json");

  ASSERT_EQ(machine.hops.size(), 1U);
  EXPECT_EQ(machine.place(machine.hops[0].source).name, "gpu0");
}

TEST(ParseMachine, SaysProblemReasonAndRemedy) {
  EXPECT_EQ(complaint("/hops/0/bandwidth/unit", "GBs"),
            "mine.json: /hops/0/bandwidth/unit is 'GBs' (the units of a bandwidth are B/s, MB/s, "
            "GB/s, GiB/s) Correct it; docs/machines.md describes the format.");
}

struct Spoiled {
  const char* pointer;
  json value;
  const char* expected;
};

TEST(ParseMachine, PointsAtTheOffendingField) {
  const json dear = {{"value", 2}, {"unit", "s"}, {"source", "guess"}};
  const std::vector<Spoiled> cases = {
      {"/schema", "polypath.machine/2", "/schema is 'polypath.machine/2' (this version reads"},
      {"/name", "a b", "/name is 'a b'"},
      {"/sources/guess", 3, "/sources/guess is of type number"},
      {"/surplus", 1, "/surplus is unknown (the fields here are schema, name"},
      {"/hops/0/bandwith", 1, "/hops/0/bandwith is unknown"},
      {"/a~1b", 1, "/a~1b is unknown"},
      {"/places", 1, "/places is of type number (an array"},
      {"/places/0/kind", "tpu", "/places/0/kind is 'tpu'"},
      {"/places/0/name", "gpu[3-1]", "/places/0/name stands for no place"},
      {"/places/0/name", "gpu[0-99]", "/places/0/name stands for no place or for too many"},
      {"/places/0/name", "GPU0", "/places/0/name is 'GPU0'"},
      {"/places/0/name", "host", "/places/0/name is 'host'"},
      {"/places/1/name", "gpu0", "/places/1/name is 'gpu0' again"},
      {"/places/1/numa_node", -1, "/places/1/numa_node is -1"},
      {"/places/1/numa_node", 0.5, "/places/1/numa_node is 0.5"},
      {"/places/0/staging_latency", 5, "/places/0/staging_latency is of type number"},
      {"/places/0/staging_latency/value", -1, "/places/0/staging_latency/value is -1"},
      {"/places/0/staging_latency/source", "gess", "/places/0/staging_latency/source is 'gess'"},
      {"/places/0/staging_latency/source", nullptr, "/places/0/staging_latency has no 'source'"},
      {"/resources/0/capacity/value", 0, "/resources/0/capacity/value is 0 GB/s"},
      {"/resources/0/capacity/value", 1e290, "/resources/0/capacity/value is 1e+290 GB/s"},
      {"/resources/0/capacity/value", "9", "/resources/0/capacity/value is of type string"},
      {"/resources/0/capacity", nullptr, "/resources/0 has neither capacity nor copies_at_once"},
      {"/resources/0/name", "tpu*.port", "/resources/0/name stands for no resource"},
      {"/resources/1/name", "gpu*.port", "/resources/1/name gives 'gpu0.port' again"},
      {"/resources/1/copies_at_once", 0, "/resources/1/copies_at_once is 0"},
      {"/hops/0/from", "gpu7", "/hops/0/from is 'gpu7' (no place has such a name)"},
      {"/hops/0/kind", "host", "/hops/0/kind is 'host' for gpu0 to gpu1"},
      {"/hops/0/uses/0", "{from}.port2", "/hops/0/uses/0 names 'gpu0.port2'"},
      {"/hops/0/uses/1/weight", 0, "/hops/0/uses/1/weight is 0"},
      {"/hops/0/uses/1/weight", 4, "/hops/0/uses/1/resource names 'gpu1.port' of 100 GB/s"},
      {"/hops/0/uses/1/resource", "{from}.engine",
       "/hops/0/uses/1/resource names 'gpu0.engine' ag"},
      {"/hops/0/absent", 1, "/hops/0/absent is of type number"},
      {"/costs/copy", nullptr, "/costs has no 'copy'"},
      {"/costs/copy", dear, "/costs/copy/value is 2 s (a time lies between 0 and 1 s)"}};

  for (const Spoiled& spoiled : cases)
    EXPECT_THAT(complaint(spoiled.pointer, spoiled.value),
                HasSubstr(std::string("mine.json: ") + spoiled.expected))
        << spoiled.pointer;
}

// A pattern stands for the pairs of different places.
TEST(ParseMachine, RefusesAHopFromAPlaceToItself) {
  json file = with_costs(sound());
  file["hops"][0]["from"] = "gpu0", file["hops"][0]["to"] = "gpu0";

  EXPECT_THAT(complaint_about(file.dump()),
              HasSubstr("/hops/0 joins gpu0 to gpu0 (a copy there needs no path)"));
}

TEST(ParseMachine, NamesTheFileWhereAllOfItIsMeant) {
  EXPECT_THAT(complaint("/description", nullptr), HasSubstr("mine.json has no 'description'"));
  EXPECT_THAT(complaint_about("[1, 2]"), HasSubstr("mine.json is of type array"));
}

TEST(ParseMachine, SaysWhereTheTextIsNotJson) {
  EXPECT_THAT(complaint_about("{\n  \"schema\": oops\n}"), HasSubstr("mine.json: line 2, column"));
  EXPECT_THAT(complaint_about(""), HasSubstr("line 1, column 1 is not JSON"));
  EXPECT_THAT(complaint_about("{\"value\": NaN}"), HasSubstr("is not JSON"));
  EXPECT_THAT(complaint_about("{\"value\": 1e999}"), HasSubstr("mine.json "));
}

TEST(ParseMachine, SaysWhereTheTextIsNotUtf8) {
  EXPECT_THAT(complaint_about("{\n  \"name\": \"caf\xe9\"\n}"),
              HasSubstr("mine.json: line 2, column 16 is not UTF-8"));
}

TEST(ParseMachine, ShowsQuantitiesInTheFilesOwnUnits) {
  const json early = {{"value", -3.5}, {"unit", "us"}, {"source", "guess"}};

  EXPECT_THAT(complaint("/costs/copy", early),
              HasSubstr("/costs/copy/value is -3.5 us (a time lies between 0 and 1 s)"));
}

TEST(ParseMachine, RefusesAKeyGivenTwice) {
  EXPECT_THAT(complaint_about(R"({"name": 1, "name": 2})"),
              HasSubstr("the key 'name' appears twice in one object"));
}

TEST(ParseMachine, RefusesDeepNestingAndLongFiles) {
  const std::string deep(1 << 20, '[');
  const std::string wide((4 << 20) + 1, ' ');

  EXPECT_THAT(complaint_about(deep), HasSubstr("nested too deeply"));
  EXPECT_THAT(complaint_about(wide), HasSubstr("at most 4 MiB"));
}

TEST(ParseMachine, RefusesPatternsThatMultiply) {
  json file = with_costs(sound());
  file["places"][0]["name"] = "gpu[0-62]";
  const json hop = file["hops"][0];
  for (int i = 0; i < 100; ++i) file["hops"].push_back(hop);

  EXPECT_THAT(complaint_about(file.dump()), HasSubstr("stands for too many pairs"));
}

}  // namespace
}  // namespace polypath::test::parse_test
