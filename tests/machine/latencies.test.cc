// What staged paths wait: by whether one GPU makes both copies, and what files say of it.

#include <gtest/gtest.h>

#include "machine/library.h"

namespace polypath {
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

  const Machine again = parse_machine(machine_to_json(machine_), "again");

  EXPECT_EQ(again.places[0].staging_latency, 7_us);
  EXPECT_EQ(again.places[0].relay_latency, 2_us);
  EXPECT_EQ(again.places[0].busy_latency, 3_us);
}

}  // namespace
}  // namespace polypath
