// Calibration of simulated machines gives back the numbers that they were made of.
//
// Observable is every α, β, ε and call cost, and a capacity that some set of hops reaches: if it
// had no limit, max-min fair rates with all other (true) capacities would take more of it than it
// has. Of any other capacity only that much can be seen, and nothing can ever ask for more.

#include "probe/calibrate.h"

#include <algorithm>
#include <cmath>

#include "model/predict.h"
#include "plan/plan.h"
#include "probe/calibrated.h"
#include "probe/hop_sets.h"
#include "support/effort.h"
#include "support/errors.h"

namespace polypath::test::calibrate_test {
namespace {

using probe::Calibration;

constexpr double kClose = 0.03;

class Calibrate : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (is_left_out_) GTEST_SKIP() << "in the long form";
  }
  [[nodiscard]] bool is_used(std::size_t resource) const {
    const auto uses_it = [&](const Use& use) { return use.resource.index() == resource; };
    return std::any_of(machine_.hops.begin(), machine_.hops.end(), [&](const Hop& hop) {
      return std::any_of(hop.uses.begin(), hop.uses.end(), uses_it);
    });
  }

  void expect_latencies_and_bandwidths();
  void expect_waits_of_staged_paths();
  void expect_busy_latencies();
  void expect_call_costs();
  void expect_reachable_capacities();
  void expect_sources();

  Machine machine_ = load_machine(GetParam());
  bool is_left_out_ = is_left_out(GetParam(), {"synthetic:3", "synthetic:13"});
  Calibration calibration_ = is_left_out_ ? Calibration{} : calibrated(machine_);
};

void Calibrate::expect_latencies_and_bandwidths() {
  for (std::size_t h = 0; h < machine_.hops.size(); ++h) {
    const Hop& hop = machine_.hops[h];
    const Hop& measured = calibration_.machine.hops[h];

    EXPECT_TRUE(within(kClose, measured.latency.value, hop.latency.value)) << h;
    EXPECT_TRUE(within(kClose, measured.bandwidth.value, hop.bandwidth.value)) << h;
  }
}

// What a staged path pays from its first copy until the caller's stream goes on. Which part of it
// is paid where cannot be seen on machines of two GPUs, and makes no difference there.
void Calibrate::expect_waits_of_staged_paths() {
  const auto waits = [](const Machine& machine, const Path& path) {
    return (machine.staging(path.first, path.second) + join_latency(machine, path)).value;
  };

  for (const Hop& hop : machine_.hops)
    for (const Path& path : find_paths(machine_, hop.source, hop.destination))
      if (path.staged())
        EXPECT_TRUE(within(kClose, waits(calibration_.machine, path), waits(machine_, path)))
            << machine_.place(hop.source).name << " to " << machine_.place(hop.destination).name
            << " over " << name_of(machine_, path);
}

void Calibrate::expect_busy_latencies() {
  Machine slow = machine_;
  for (Place& place : slow.places)
    if (place.kind == PlaceKind::gpu) place.busy_latency = 3.5_us;

  const Calibration calibration = calibrated(slow);

  for (const PlaceId gpu : slow.places_of(PlaceKind::gpu)) {
    const double found = calibration.machine.place(gpu).busy_latency.value;
    // Where peers and hosts share a link, or there are no peers, it cannot be seen.
    if (found > 0) EXPECT_TRUE(within(kClose, found, 3.5e-6)) << slow.place(gpu).name;
  }
}

TEST(CalibrateH200, SeesBusyGpus) {
  Machine slow = load_machine("h200x4");
  slow.places[0].busy_latency = 3.5_us;

  EXPECT_TRUE(within(kClose, calibrated(slow).machine.places[0].busy_latency.value, 3.5e-6));
}

void Calibrate::expect_call_costs() {
  for (const CostField& cost : cost_fields())
    EXPECT_TRUE(within(kClose, (calibration_.machine.costs.*cost.value).value,
                       (machine_.costs.*cost.value).value))
        << cost.name;
}

void Calibrate::expect_reachable_capacities() {
  probe::Knowledge truth;
  for (const Hop& hop : machine_.hops) truth.bandwidths.push_back(hop.bandwidth);
  for (const Resource& resource : machine_.resources) truth.capacities.push_back(resource.capacity);
  for (std::size_t r = 0; r < machine_.resources.size(); ++r) {
    const double capacity = machine_.resources[r].capacity.value;
    if (!std::isfinite(capacity) || !is_used(r)) continue;
    const ResourceId id{static_cast<std::int32_t>(r)};
    probe::Knowledge unlimited = truth;
    unlimited.capacities[r] = BytesPerSecond::infinity();

    const probe::HopSet set = probe::heaviest_set(machine_, truth, id);
    const double reachable = probe::expected_total(machine_, unlimited, id, set).value;

    EXPECT_TRUE(within(kClose, calibration_.machine.resources[r].capacity.value,
                       std::min(capacity, reachable)))
        << machine_.resources[r].name << ": " << calibration_.provenance.resources[r];
  }
}

void Calibrate::expect_sources() {
  const probe::Calibration& found = calibration_;
  for (const auto& sentences :
       {found.provenance.places, found.provenance.latencies, found.provenance.bandwidths})
    for (const std::string& sentence : sentences)
      EXPECT_EQ(sentence.rfind("measured 2026-01-02 on sim", 0), 0U) << sentence;
  for (std::size_t c = 0; c < cost_fields().size(); ++c) {
    const bool is_there = (found.machine.costs.*cost_fields()[c].value).value > 0;
    EXPECT_EQ(found.provenance.costs[c].rfind("measured 2026-01-02 on sim", 0) == 0, is_there)
        << cost_fields()[c].name;
  }
  for (std::size_t r = 0; r < machine_.resources.size(); ++r)
    EXPECT_EQ(found.provenance.resources[r].empty(),
              !std::isfinite(machine_.resources[r].capacity.value) || !is_used(r));
}

// Calibrating takes a second: once for all that is asked of a machine.
TEST_P(Calibrate, RecoversEveryNumberAndSaysWhereItIsFrom) {
  expect_latencies_and_bandwidths();
  expect_waits_of_staged_paths();
  expect_busy_latencies();
  expect_call_costs();
  expect_reachable_capacities();
  expect_sources();
}

INSTANTIATE_TEST_SUITE_P(Machines, Calibrate,
                         testing::Values("h200x4", "beluga", "narval", "pcie4", "nop2p4", "cedar",
                                         "mist", "synthetic:1", "synthetic:2", "synthetic:3",
                                         "synthetic:5", "synthetic:8", "synthetic:13"));

}  // namespace
}  // namespace polypath::test::calibrate_test
