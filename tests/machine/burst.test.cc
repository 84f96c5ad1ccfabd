// Bursts of resources and what threads hold each other up, in machine files.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "machine/equal.h"
#include "machine/load_machine.h"
#include "machine/provenance.h"
#include "support/errors.h"
#include "support/hand_machine.h"

namespace polypath::test::burst_test {
namespace {

using nlohmann::json;

json file_of(const Machine& machine) { return json::parse(machine_to_json(machine)); }

// What a file needs that the machine of round figures does not have.
Machine described_machine() {
  Machine machine = hand_machine();
  machine.description = "Round figures.";
  for (Place& place : machine.places) place.model = "model";
  return machine;
}

json quantity(double value, const char* unit) {
  return {{"value", value}, {"unit", unit}, {"source", "expanded"}};
}

json with_burst(const json& rate, const json& size) {
  json file = file_of(described_machine());
  file["resources"][0]["burst"] = {{"rate", rate}, {"size", size}};
  return file;
}

Machine parsed(const json& file) { return parse_machine(file.dump(), "mine.json"); }

// The capacity is 1 GB/s.
TEST(Burst, IsReadWithItsUnits) {
  const Machine machine = parsed(with_burst(quantity(1500, "MB/s"), quantity(9, "MiB")));

  EXPECT_EQ(machine.resources[0].burst.rate, 1.5_GBps);
  EXPECT_EQ(machine.resources[0].burst.size, 9_MiB);
  EXPECT_EQ(machine.resources[1].burst.size, 0_B);
}

// By 1000 us, 1.5 MB at the burst's rate, 0.25 + 1 at the capacity's: the less.
TEST(Burst, IsALimitOfTwoLines) {
  Resource resource{"memory", "memory", 1_GBps, 0, {1.5_GBps, 250000_B}};

  EXPECT_DOUBLE_EQ(resource.rate_limit().time_of(300000), 200e-6);
  EXPECT_DOUBLE_EQ(resource.rate_limit().time_of(1250000), 1000e-6);
  EXPECT_EQ(resource.rate_limit().peak(), 1.5e9);
}

TEST(Burst, OfNoBytesIsNone) {
  const Machine machine = parsed(with_burst(quantity(1, "GB/s"), quantity(0, "B")));

  expect_equal(machine, described_machine());
  EXPECT_EQ(machine.resources[0].rate_limit(), Capacity(1_GBps));
}

TEST(Burst, IsWrittenAndReadAgain) {
  Machine machine = described_machine();
  machine.resources[0].burst = {1.5_GBps, 250000_B};
  machine.costs.threads_hold_up = 3_us;

  expect_equal(parsed(file_of(machine)), machine);
}

TEST(Burst, IsLeftOutOfFilesThatHaveNone) {
  const json file = file_of(described_machine());

  EXPECT_FALSE(file["resources"][0].contains("burst"));
  EXPECT_FALSE(file["costs"].contains("threads_hold_up"));
}

// Calibration found one where the nominal machine has none.
TEST(Burst, ThatWasFoundIsUnknownToTheNominalMachine) {
  Machine measured = described_machine();
  measured.resources[0].burst = {1.5_GBps, 250000_B};
  Provenance provenance;
  provenance.nominal = described_machine();
  provenance.places.resize(measured.places.size());
  provenance.resources.resize(measured.resources.size());
  provenance.bursts.resize(measured.resources.size());
  provenance.latencies.resize(measured.hops.size());
  provenance.bandwidths.resize(measured.hops.size());
  provenance.costs.resize(cost_fields().size());
  provenance.bursts[0] = "measured today";
  const std::string text = machine_to_json(measured, provenance);

  const auto nominal = parse_nominal_machine(text, "mine.json");

  ASSERT_TRUE(nominal);
  EXPECT_EQ(nominal->resources[0].burst.size, 0_B);
  EXPECT_EQ(parse_machine(text, "mine.json").resources[0].burst.size, 250000_B);
}

struct Slip {
  json rate, size;
  const char* complaint;
};

TEST(Burst, ThatIsNoneIsRefused) {
  const json good_rate = quantity(2, "GB/s"), good_size = quantity(1, "MiB");
  const std::vector<Slip> slips = {
      {quantity(1, "GB/s"), good_size,
       "/resources/0/burst/rate is 1 GB/s (a burst is faster than the capacity, which is 1 GB/s)"},
      {quantity(0, "GB/s"), good_size, "/resources/0/burst/rate/value is 0 GB/s"},
      {quantity(2, "us"), good_size, "/resources/0/burst/rate/unit is 'us'"},
      {good_rate, quantity(0.5, "B"), "/resources/0/burst/size/value is 0.5 B"},
      {good_rate, quantity(-1, "B"), "/resources/0/burst/size/value is -1 B"},
      {good_rate, quantity(2048, "GiB"), "a size is a whole number of bytes from 0 to 1 TiB"},
      {good_rate, json("9"), "/resources/0/burst/size"}};
  for (const Slip& slip : slips)
    expect_error(
        ErrorCode::invalid_machine, [&] { parsed(with_burst(slip.rate, slip.size)); },
        slip.complaint);
}

TEST(Burst, OfAnEngineIsRefused) {
  json file = file_of(described_machine());
  file["resources"][3]["burst"] = {{"rate", quantity(2, "GB/s")}, {"size", quantity(1, "MiB")}};

  expect_error(
      ErrorCode::invalid_machine, [&] { parsed(file); },
      "/resources/3/burst has no capacity beside it");
}

TEST(Burst, ThatIsNoFasterIsFoundInAMachineMadeInCode) {
  Machine machine = hand_machine();
  machine.resources[0].burst = {1_GBps, 1_MiB};

  expect_error(
      ErrorCode::invalid_machine, [&] { validate(machine); },
      "the burst of 'gpu0.ingress' is no faster than it");
}

// Five kinds of calls wait for the other thread; what follows within a call does not.
TEST(HeldUp, IsWhatEachCallCostsMore) {
  Machine machine = hand_machine();
  machine.costs.threads_hold_up = 2_us;

  const CallCosts costs = held_up(machine.costs);

  EXPECT_EQ(costs.copy, 1_us + 2_us);
  EXPECT_EQ(costs.event_record, 2_us + 2_us);
  EXPECT_EQ(costs.event_wait, 3_us + 2_us);
  EXPECT_EQ(costs.synchronize, 4_us + 2_us);
  EXPECT_EQ(costs.graph_launch, 5_us + 2_us);
  EXPECT_EQ(costs.graph_launch_node, machine.costs.graph_launch_node);
  EXPECT_EQ(costs.graph_update_node, machine.costs.graph_update_node);
}

TEST(HeldUp, TakesASecondAtMost) {
  json file = file_of(described_machine());
  file["costs"]["threads_hold_up"] = quantity(2, "s");

  expect_error(
      ErrorCode::invalid_machine, [&] { parsed(file); },
      "/costs/threads_hold_up/value is 2 s (a time lies between 0 and 1 s)");
}

}  // namespace
}  // namespace polypath::test::burst_test
