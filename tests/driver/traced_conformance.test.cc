// A driver under a trace is a driver: the conformance suite over the simulated one, with everything
// recorded, which leaves nothing behind.

#include <cstring>

#include "driver/conformance.h"
#include "driver/sim/sim_driver.h"
#include "driver/trace/traced_driver.h"
#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::traced_conformance_test {
namespace {

class TracedUnderTest final : public DriverUnderTest {
 public:
  TracedUnderTest()
      : sim_(std::make_shared<sim::SimDriver>(load_machine("beluga"))),
        recorder_(std::in_place, *sim_, sim_->machine(), [](const auto&) {}),
        traced_(sim_, *recorder_) {}

  Driver& driver() override { return traced_; }
  const Machine& machine() const override { return sim_->machine(); }
  void write(Address address, const Contents& contents) override {
    std::memcpy(reinterpret_cast<void*>(address.value), contents.data(), contents.size());
  }
  Contents read(Address address, std::size_t bytes) override {
    const auto* begin = reinterpret_cast<const unsigned char*>(address.value);
    return {begin, begin + bytes};
  }
  std::vector<std::string> complaints() override {
    recorder_.reset();
    std::vector<std::string> complaints = sim_->violations();
    for (const std::string& leak : sim_->leaks()) complaints.push_back("leaked: " + leak);
    return complaints;
  }

 private:
  std::shared_ptr<sim::SimDriver> sim_;
  std::optional<trace::Recorder> recorder_;
  trace::TracedDriver traced_;
};

const auto kTraced =
    testing::Values(DriverFactory{"traced", [] { return std::make_unique<TracedUnderTest>(); }});

INSTANTIATE_TEST_SUITE_P(Traced, DriverConformance, kTraced, factory_name);
INSTANTIATE_TEST_SUITE_P(Traced, DriverArguments, kTraced, factory_name);
INSTANTIATE_TEST_SUITE_P(Traced, DriverFlags, kTraced, factory_name);
INSTANTIATE_TEST_SUITE_P(Traced, DriverKernels, kTraced, factory_name);
INSTANTIATE_TEST_SUITE_P(Traced, DriverReductions, kTraced, factory_name);

}  // namespace
}  // namespace polypath::test::traced_conformance_test
