// "host" means the host place nearest to the GPU at the other end, everywhere.

#include <gtest/gtest.h>

#include "machine/load_machine.h"
#include "support/errors.h"

namespace polypath::test::host_test {
namespace {

using test::expect_error;

// Two sockets: gpu0 to gpu3 at host0, gpu4 to gpu7 at host1.
class HostOfTwoSockets : public testing::Test {
 protected:
  [[nodiscard]] std::string ends(const std::string& source, const std::string& destination) const {
    const auto [from, to] = machine_.find_ends(source, destination);
    return machine_.place(from).name + " " + machine_.place(to).name;
  }

  Machine machine_ = load_machine("h200x8");
};

TEST_F(HostOfTwoSockets, IsNearestToTheGpuAtTheOtherEnd) {
  EXPECT_EQ(ends("host", "gpu0"), "host0 gpu0");
  EXPECT_EQ(ends("host", "gpu7"), "host1 gpu7");
  EXPECT_EQ(ends("gpu7", "host"), "gpu7 host1");
}

TEST_F(HostOfTwoSockets, IsNearestToTheGpuThatSendsWhereItIsAStage) {
  const PlaceId gpu0 = machine_.find_place("gpu0"), gpu7 = machine_.find_place("gpu7");

  EXPECT_EQ(machine_.place(machine_.host_for(gpu0, gpu7)).name, "host0");
  EXPECT_EQ(machine_.place(machine_.host_for(gpu7, gpu0)).name, "host1");
}

TEST_F(HostOfTwoSockets, IsTheFirstWhereNoGpuIsInvolved) {
  EXPECT_EQ(ends("host", "host"), "host0 host0");
  EXPECT_EQ(machine_.place(machine_.find_place("host")).name, "host0");
}

TEST_F(HostOfTwoSockets, LeavesOtherNamesAlone) {
  EXPECT_EQ(ends("host0", "gpu7"), "host0 gpu7");
  EXPECT_EQ(ends("gpu0", "gpu7"), "gpu0 gpu7");
  expect_error(
      ErrorCode::invalid_argument, [&] { (void)ends("host", "gpu9"); }, "gpu9");
}

TEST(HostOfNone, IsUnknown) {
  const Machine machine{.name = "bare",
                        .description = {},
                        .places = {{.name = "gpu0"}},
                        .resources = {},
                        .hops = {},
                        .costs = {}};

  EXPECT_FALSE(machine.host_for({0}, {0}).valid());
  expect_error(
      ErrorCode::invalid_argument, [&] { (void)machine.find_ends("host", "gpu0"); }, "'host'");
}

}  // namespace
}  // namespace polypath::test::host_test
