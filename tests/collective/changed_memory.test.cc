// Memory that ranks open to each other, where an address comes to mean another allocation
// (collective/open_memory.h).

#include <gtest/gtest.h>

#include "collective/open_memory.h"
#include "collective/support/ranks.h"
#include "machine/load_machine.h"
#include "support/forwarding_driver.h"
#include "support/open_ends.h"

namespace polypath::test::changed_memory_test {
namespace {

/// Says of one allocation that it is another one, of another size, at the same address.
class ChangingMemory final : public ForwardingDriver {
 public:
  using ForwardingDriver::ForwardingDriver;
  std::uint64_t memory_id(Address address) override { return is_there(address) ? id : kOther; }
  std::optional<MemoryInfo> find_memory(Address address) override {
    auto memory = ForwardingDriver::find_memory(address);
    if (is_there(address)) memory->size = size;
    return memory;
  }

  Address begin;
  std::uint64_t id = 1;
  Bytes size;

 private:
  static constexpr std::uint64_t kOther = 99;
  [[nodiscard]] bool is_there(Address address) const {
    return address.value - begin.value < Bytes{1_MiB}.value;
  }
};

// The address is beyond what was there, where nothing was known; and the call at hand looks whether
// another allocation still is what it was.
TEST(OpenMemory, IsTakenBackWhereALargerAllocationBegins) {
  sim::SimDriver simulated(load_machine("h200x4"));
  ChangingMemory driver(simulated);
  const PlaceId gpu = first_gpus(simulated.machine(), 1).front();
  const Address memory = driver.begin = driver.allocate(gpu, 1_MiB);
  const Address other = driver.allocate(gpu, 1_MiB);
  OpenEnds shared;
  Notices others = shared.notices_of(1);
  OpenMemory open(driver, gpu, 0, shared.notices_of(0), shared.offers_of(0));
  driver.size = 1_KiB;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(open.of_all({memory}, {}, false));
  EXPECT_FALSE(open.of_all({other}, {}, false));
  ASSERT_EQ(others.news().size(), 1U);

  driver.id = 2, driver.size = 1_MiB;
  EXPECT_FALSE(open.of_all({memory + 2_KiB}, {}, false));

  const auto news = others.news();
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].bytes, "");
  driver.free(memory), driver.free(other);
}

}  // namespace
}  // namespace polypath::test::changed_memory_test
