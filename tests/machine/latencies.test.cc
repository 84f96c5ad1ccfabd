// What staged paths wait: by whether one GPU makes both copies, and what files say of it.

#include <gtest/gtest.h>

#include "machine/load_machine.h"
#include "machine/provenance.h"
#include "support/layers.h"

namespace polypath::test::latencies_test {
namespace {

class Latencies : public testing::Test {
 protected:
  Latencies() {
    for (Place& place : machine_.places) {
      place.staging_latency = 7_us;
      place.relay_latency = 2_us;
    }
  }

  HopId hop(const char* from, const char* to) {
    return *machine_.find_hop(machine_.find_place(from), machine_.find_place(to));
  }

  Machine machine_ = load_machine("h200x4");
};

// gpu0 pushes to gpu2, gpu2 pushes on.
TEST_F(Latencies, TwoGpusPayTheStagingLatency) {
  EXPECT_EQ(machine_.staging(hop("gpu0", "gpu2"), hop("gpu2", "gpu1")), 7_us);
}

// gpu1 pulls from the host and pushes on.
TEST_F(Latencies, OneGpuPaysTheRelayLatency) {
  EXPECT_EQ(machine_.staging(hop("host0", "gpu1"), hop("gpu1", "gpu0")), 2_us);
}

TEST_F(Latencies, WhoWaitsOnAnotherGpuPaysTheStagingLatency) {
  const HopId arrived = hop("host0", "gpu1");

  EXPECT_EQ(machine_.wait_latency(arrived, machine_.find_place("gpu0")), 7_us);
  EXPECT_EQ(machine_.wait_latency(arrived, machine_.find_place("gpu1")), 2_us);
}

TEST_F(Latencies, AFileThatSaysNothingMeansTheStagingLatency) {
  const Machine machine = load_machine("beluga");

  for (const Place& place : machine.places) {
    EXPECT_EQ(place.relay_latency, place.staging_latency);
    EXPECT_EQ(place.busy_latency, 0_us);
  }
}

TEST_F(Latencies, AreWrittenAndReadAgain) {
  machine_.places[0].busy_latency = 3_us;
  machine_.places[0].reduction_latency = 4_us;
  machine_.places[0].reduction_bandwidth = 900_GBps;

  const Machine again = parse_machine(machine_to_json(machine_), "again");

  EXPECT_EQ(again.places[0].staging_latency, 7_us);
  EXPECT_EQ(again.places[0].relay_latency, 2_us);
  EXPECT_EQ(again.places[0].busy_latency, 3_us);
  EXPECT_EQ(again.places[0].reduction_latency, 4_us);
  EXPECT_EQ(again.places[0].reduction_bandwidth, 900_GBps);
}

// A place as calibration writes it, with these additions.
std::string calibrated_place(const std::string& staging, const std::string& more) {
  return R"({"schema": "polypath.machine/1", "name": "m", "description": "d",
    "sources": {"s": "measured"}, "places": [{"name": "host0", "kind": "host", "model": "x",
    "numa_node": 0, "staging_latency": {"value": )" +
         staging + R"(, "unit": "us", "source": "s", "nominal": 6.5},
    "relay_latency": {"value": 0, "unit": "us", "source": "s", "nominal": 5})" +
         more + R"(}], "resources": [], "hops": [], "costs": {)" +
         [] {
           std::string costs;
           for (const CostField& cost : cost_fields())
             costs += (costs.empty() ? "\"" : ", \"") + std::string(cost.name) +
                      R"(": {"value": 1, "unit": "us", "source": "s"})";
           return costs;
         }() +
         "}}";
}

TEST(MissingStaging, IsTheNominalLatencyAndAMark) {
  const Machine machine = parse_machine(calibrated_place("1", R"(, "staging_missing": true)"), "f");

  EXPECT_TRUE(machine.places[0].staging_missing);
  EXPECT_EQ(machine.places[0].staging_latency, 6.5_us);
  EXPECT_EQ(machine.places[0].relay_latency, 5_us);
  EXPECT_EQ(machine.places_without_staging(), std::vector<std::string>{"host0"});
}

TEST(MissingStaging, IsSeenInFilesThatSayNothingWasFound) {
  const Machine machine = parse_machine(calibrated_place("0", ""), "f");

  EXPECT_TRUE(machine.places[0].staging_missing);
  EXPECT_EQ(machine.places[0].staging_latency, 6.5_us);
}

TEST(MissingStaging, IsNoMatterWhereItWasMeasured) {
  const Machine machine = parse_machine(calibrated_place("4", ""), "f");

  EXPECT_FALSE(machine.places[0].staging_missing);
  EXPECT_EQ(machine.places[0].staging_latency, 4_us);
  EXPECT_TRUE(machine.places_without_staging().empty());
}

TEST(MissingStaging, IsUnknownToTheNominalMachine) {
  const auto nominal = parse_nominal_machine(calibrated_place("0", ""), "f");

  ASSERT_TRUE(nominal);
  EXPECT_FALSE(nominal->places[0].staging_missing);
  EXPECT_EQ(nominal->places[0].staging_latency, 6.5_us);
}

TEST(MissingStaging, IsNotSaidOfAMachineThatWasNeverCalibrated) {
  for (const std::string& name : zoo_names())
    EXPECT_TRUE(load_machine(name).places_without_staging().empty()) << name;
}

TEST_F(Latencies, ThatAreMissingAreWrittenAndReadAgain) {
  machine_.places[0].staging_missing = true;

  const Machine again = parse_machine(machine_to_json(machine_), "again");

  EXPECT_EQ(again.places_without_staging(), std::vector<std::string>{"gpu0"});
}

}  // namespace
}  // namespace polypath::test::latencies_test
