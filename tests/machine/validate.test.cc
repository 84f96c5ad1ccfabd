// What is wrong with a machine that was built in code is found, in each way to build it: what is
// read from a file has been looked at before, field by field.

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "support/errors.h"
#include "support/hand_machine.h"

namespace polypath::test::validate_test {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

struct Slip {
  const char* name;
  std::function<void(Machine&)> make;
  const char* complaint;
};

void PrintTo(const Slip& slip, std::ostream* out) { *out << slip.name; }

class Validate : public testing::TestWithParam<Slip> {};

TEST_P(Validate, FindsTheSlip) {
  Machine machine = hand_machine();
  GetParam().make(machine);

  expect_error(
      ErrorCode::invalid_machine, [&] { validate(machine); }, "machine 'hand'",
      GetParam().complaint);
}

// The first hop goes from gpu0 to gpu1.
INSTANTIATE_TEST_SUITE_P(
    Slips, Validate,
    testing::Values(
        Slip{"NoPlaces", [](Machine& m) { m.places.clear(); }, "it has no places"},
        Slip{"PlaceWithoutName", [](Machine& m) { m.places[1].name = ""; }, "place name ''"},
        Slip{"TwoPlacesOfAName", [](Machine& m) { m.places[1].name = "gpu0"; },
             "place name 'gpu0' is empty or used twice"},
        Slip{"StagingThatLastsForEver",
             [](Machine& m) { m.places[0].staging_latency = {kInfinite}; }, "gpu0.staging_latency"},
        Slip{"RelayBeforeItsTime", [](Machine& m) { m.places[0].relay_latency = {-1e-9}; },
             "gpu0.relay_latency"},
        Slip{"NoNumber", [](Machine& m) { m.places[0].busy_latency = {kNoNumber}; },
             "gpu0.busy_latency"},
        Slip{"ReductionThatNeverEnds", [](Machine& m) { m.places[0].reduction_bandwidth = {0}; },
             "gpu0.reduction_bandwidth"},
        Slip{"ResourceWithoutName", [](Machine& m) { m.resources[0].name = ""; },
             "resource name ''"},
        Slip{"TwoResourcesOfAName", [](Machine& m) { m.resources[1].name = m.resources[0].name; },
             "resource name 'gpu0.ingress' is empty or used twice"},
        Slip{"ResourceWithoutCapacity", [](Machine& m) { m.resources[0].capacity = {0}; },
             "resource 'gpu0.ingress' has no capacity"},
        Slip{"FewerThanNoCopies", [](Machine& m) { m.resources[0].copies_at_once = -1; },
             "resource 'gpu0.ingress' has no capacity"},
        Slip{"HopFromNowhere", [](Machine& m) { m.hops[0].source = {}; },
             "does not join two different places"},
        Slip{"HopBeyondTheLastPlace", [](Machine& m) { m.hops[0].destination = {4}; },
             "does not join two different places"},
        Slip{"HopToItself", [](Machine& m) { m.hops[0].destination = m.hops[0].source; },
             "does not join two different places"},
        Slip{"TwoHopsOfAPair", [](Machine& m) { m.hops.push_back(m.hops[0]); },
             "two hops from gpu0 to gpu1"},
        Slip{"HopWithoutBandwidth", [](Machine& m) { m.hops[0].bandwidth = {0}; },
             "gpu0 -> gpu1 has no finite bandwidth"},
        Slip{"HopWithoutEnd", [](Machine& m) { m.hops[0].bandwidth = {kInfinite}; },
             "gpu0 -> gpu1 has no finite bandwidth"},
        Slip{"HopThatTakesTooLong", [](Machine& m) { m.hops[0].latency = {1.5}; },
             "gpu0 -> gpu1 latency is 1.5 s"},
        Slip{"UnknownResource",
             [](Machine& m) {
               m.hops[0].uses.push_back({{6}, 1});
             },
             "gpu0 -> gpu1 uses an unknown resource"},
        Slip{"NoResource", [](Machine& m) { m.hops[0].uses.push_back({}); },
             "gpu0 -> gpu1 uses an unknown resource"},
        Slip{"NoWeight", [](Machine& m) { m.hops[0].uses[0].weight = 0; },
             "gpu0 -> gpu1 uses an unknown resource or has no positive weight"},
        Slip{"EndlessWeight", [](Machine& m) { m.hops[0].uses[0].weight = kInfinite; },
             "gpu0 -> gpu1 uses an unknown resource or has no positive weight"},
        Slip{"CallThatTakesTooLong", [](Machine& m) { m.costs.graph_update_node = {2}; },
             "a call cost is 2 s"}),
    [](const auto& of) { return std::string(of.param.name); });

TEST(ValidateMachine, IsContentWithASoundOne) { EXPECT_NO_THROW(validate(hand_machine())); }

}  // namespace
}  // namespace polypath::test::validate_test
