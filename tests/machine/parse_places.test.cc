// A machine has at most 64 places, however many entries say so.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "machine/load_machine.h"
#include "support/errors.h"

namespace polypath::test::parse_places_test {
namespace {

// One entry per pattern, and nothing to copy over.
std::string with_places(const std::vector<std::string>& patterns) {
  std::string places, costs;
  for (const std::string& pattern : patterns)
    places += fmt::format(R"({}{{"name": "{}", "kind": "gpu", "model": "G", "numa_node": 0,
                            "staging_latency": {{"value": 5, "unit": "us", "source": "guess"}}}})",
                          places.empty() ? "" : ",", pattern);
  for (const char* cost :
       {"copy", "event_record", "event_wait", "synchronize", "graph_launch", "graph_launch_node",
        "graph_instantiate", "graph_instantiate_node", "graph_update_node"})
    costs += fmt::format(R"({}"{}": {{"value": 1, "unit": "us", "source": "guess"}})",
                         costs.empty() ? "" : ",", cost);
  return fmt::format(R"({{"schema": "polypath.machine/1", "name": "many", "description": "Many.",
                          "sources": {{"guess": "A round number."}}, "places": [{}],
                          "resources": [], "hops": [], "costs": {{{}}}}})",
                     places, costs);
}

TEST(ParsePlaces, SixtyFourOfTwoEntriesAreNotTooMany) {
  const Machine machine = parse_machine(with_places({"gpu[0-31]", "gpu[32-63]"}), "mine.json");

  EXPECT_EQ(machine.places.size(), 64U);
}

TEST(ParsePlaces, SixtyFiveOfTwoEntriesAreTooMany) {
  test::expect_error(
      ErrorCode::invalid_machine,
      [] {
        parse_machine(with_places({"gpu[0-31]", "gpu[32-64]"}), "mine.json");
      },
      "/places/1/name", "at most 64 places");
}

TEST(ParsePlaces, OneAfterSixtyFourIsTooMany) {
  test::expect_error(
      ErrorCode::invalid_machine,
      [] {
        parse_machine(with_places({"gpu[0-63]", "other0"}), "mine.json");
      },
      "/places/1/name", "at most 64 places");
}

}  // namespace
}  // namespace polypath::test::parse_places_test
