// Synthetic machines: the same seed gives the same machine, and every machine can be used.

#include <gtest/gtest.h>

#include <set>

#include "machine/equal.h"
#include "machine/load_machine.h"
#include "support/effort.h"

namespace polypath::test::synthetic_test {
namespace {

constexpr std::uint64_t kSeeds = 500;

TEST(SyntheticMachine, IsTheSameForTheSameSeed) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed)
    expect_equal(synthetic_machine(seed), synthetic_machine(seed));
}

// The figures were written down on x86-64 with GCC 12; every platform must agree.
TEST(SyntheticMachine, IsTheSameOnEveryPlatform) {
  const Machine machine = load_machine("synthetic:7");

  EXPECT_EQ(machine.name, "synthetic:7");
  EXPECT_EQ(machine.description,
            "Made from seed 7: 5 GPUs, peer access over PCIe, 3 host memories.");
  EXPECT_EQ(machine.hops.front().bandwidth.value, 54e9);
}

TEST(SyntheticMachine, IsValidAndRoundTrips) {
  for (const std::uint64_t seed : test::seeds(kSeeds, kSeeds / 8)) {
    SCOPED_TRACE(seed);

    const Machine machine = synthetic_machine(seed);

    validate(machine);
    expect_equal(machine, parse_machine(machine_to_json(machine), "round trip"));
  }
}

TEST(SyntheticMachine, StaysWithinTheSizesPromised) {
  std::set<std::size_t> gpu_counts;
  std::set<std::size_t> host_counts;

  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Machine machine = synthetic_machine(seed);
    gpu_counts.insert(machine.places_of(PlaceKind::gpu).size());
    host_counts.insert(machine.places_of(PlaceKind::host).size());
  }

  EXPECT_EQ(gpu_counts, (std::set<std::size_t>{2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(host_counts, (std::set<std::size_t>{1, 2, 3, 4}));
}

TEST(SyntheticMachine, ComesInEveryFamily) {
  bool peer = false;
  bool staged = false;
  bool port = false;
  bool serial = false;

  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Machine machine = synthetic_machine(seed);
    for (const Hop& hop : machine.hops) {
      peer |= hop.kind == HopKind::peer;
      staged |= hop.kind == HopKind::driver_staged;
    }
    for (const Resource& resource : machine.resources) {
      port |= resource.kind == "port";
      serial |= resource.name.ends_with(".peer_engine");
    }
  }

  EXPECT_TRUE(peer && staged && port && serial);
}

}  // namespace
}  // namespace polypath::test::synthetic_test
