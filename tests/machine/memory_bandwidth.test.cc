#include "machine/memory_bandwidth.h"

#include <gmock/gmock.h>

#include "machine/load_machine.h"

namespace polypath {
namespace {

TEST(MemoryBandwidth, IsThatOfTheDataSheet) {
  const std::map<std::string, BytesPerSecond> of = {
      {"beluga", 900_GBps}, {"narval", 1555_GBps}, {"h200x4", 4800_GBps}, {"nop2p4", 1008_GBps}};

  for (const auto& [name, rate] : of) {
    const MemoryBandwidth found = memory_bandwidth(load_machine(name).places[0]);
    EXPECT_EQ(found.value, rate) << name;
    EXPECT_THAT(found.source, testing::HasSubstr("NVIDIA"));
  }
}

TEST(MemoryBandwidth, KnowsModelsAsTheDriverCallsThem) {
  EXPECT_EQ(memory_bandwidth({.name = "gpu0", .model = "NVIDIA H200"}).value, 4800_GBps);
}

// Two reads and a write of 100 GB/s each.
TEST(MemoryBandwidth, OfOtherModelsFollowsFromReductions) {
  const Place gpu{.name = "gpu0", .model = "Volta 9000", .reduction_bandwidth = 100_GBps};

  EXPECT_DOUBLE_EQ(memory_bandwidth(gpu).value.value, 300e9);
  EXPECT_THAT(memory_bandwidth(gpu).source, testing::HasSubstr("reduction_bandwidth"));
}

}  // namespace
}  // namespace polypath
