// The simulated driver under the conformance suite, on machines with and without peer access.

#include <cstring>

#include "driver/conformance.h"
#include "driver/sim/sim_driver.h"
#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::sim_conformance_test {
namespace {

class SimUnderTest final : public DriverUnderTest {
 public:
  explicit SimUnderTest(const std::string& machine) : driver_(load_machine(machine)) {}

  Driver& driver() override { return driver_; }
  const Machine& machine() const override { return driver_.machine(); }
  void write(Address address, const Contents& contents) override {
    std::memcpy(reinterpret_cast<void*>(address.value), contents.data(), contents.size());
  }
  Contents read(Address address, std::size_t bytes) override {
    const auto* begin = reinterpret_cast<const unsigned char*>(address.value);
    return {begin, begin + bytes};
  }
  std::vector<std::string> complaints() override {
    std::vector<std::string> complaints = driver_.violations();
    for (const std::string& leak : driver_.leaks()) complaints.push_back("leaked: " + leak);
    return complaints;
  }

 private:
  sim::SimDriver driver_;
};

DriverFactory sim_on(const std::string& name, const std::string& machine) {
  return {name, [machine] { return std::make_unique<SimUnderTest>(machine); }};
}

const auto kMachines = testing::Values(sim_on("beluga", "beluga"), sim_on("h200x4", "h200x4"),
                                       sim_on("nop2p4", "nop2p4"), sim_on("mist", "mist"));

INSTANTIATE_TEST_SUITE_P(Sim, DriverConformance, kMachines, factory_name);
INSTANTIATE_TEST_SUITE_P(Sim, DriverArguments, kMachines, factory_name);
INSTANTIATE_TEST_SUITE_P(Sim, DriverFlags, kMachines, factory_name);
INSTANTIATE_TEST_SUITE_P(Sim, DriverKernels, kMachines, factory_name);
INSTANTIATE_TEST_SUITE_P(Sim, DriverMail, kMachines, factory_name);
INSTANTIATE_TEST_SUITE_P(Sim, DriverPieces, kMachines, factory_name);
INSTANTIATE_TEST_SUITE_P(Sim, DriverReductions, kMachines, factory_name);

}  // namespace
}  // namespace polypath::test::sim_conformance_test
