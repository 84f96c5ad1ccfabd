// Ordinary memory that the simulated driver has been told of.

#include "driver/hand_driver.h"
#include "support/errors.h"

namespace polypath::test::sim_pageable_test {
namespace {

constexpr std::size_t kSize = 79000;

class PageableMemory : public HandDriver {
 protected:
  PageableMemory() { driver_.add_pageable(address(), {kSize}); }
  Address address() { return {reinterpret_cast<std::uintptr_t>(ordinary_.data())}; }

  Contents ordinary_ = pattern(kSize, 1);
  const Contents before_ = ordinary_;
  const Address device_ = memory(gpu(0), kSize);
  const StreamHandle stream_ = driver_.create_stream(gpu(0));
};

TEST_F(PageableMemory, IsFoundFromTheAddressAskedForOn) {
  const auto found = driver_.find_memory(address() + 100_B);

  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, MemoryKind::pageable);
  EXPECT_EQ(found->place, kHost);
  EXPECT_EQ(found->base, address() + 100_B);
  EXPECT_EQ(found->size, Bytes{kSize - 100});
  EXPECT_FALSE(driver_.find_memory(address() + Bytes{kSize}));
  driver_.remove_pageable(address());
  EXPECT_FALSE(driver_.find_memory(address()));
}

// 1 us for the call, and 79000 bytes at 7.9 GB/s.
TEST_F(PageableMemory, IsInTheGpuWhenTheCallReturns) {
  driver_.copy_native({device_, address(), {kSize}, {}}, stream_);

  expect_now(1 + 10);
  EXPECT_TRUE(same_bytes(read(device_, kSize), before_));
  EXPECT_TRUE(driver_.violations().empty());
}

// A first copy of 40000 bytes at 0.5 GB/s, after 1 us for the call and 10 us of latency; the second
// call meanwhile; then 79000 bytes at 13.4 GB/s.
TEST_F(PageableMemory, IsCopiedAfterWhatIsInTheStream) {
  const Address pinned = memory(kHost, kSize);
  const Contents other = pattern(40000, 2);
  write(pinned, other);

  driver_.copy_native({device_, pinned, 40000_B, {}}, stream_);
  driver_.copy_native({address(), device_, {kSize}, {}}, stream_);

  expect_now(1 + 10 + 80 + 79000 / 13.4e3);
  EXPECT_TRUE(same_bytes({ordinary_.begin(), ordinary_.begin() + 40000}, other));
  EXPECT_TRUE(driver_.violations().empty());
}

// 79000 bytes at 0.79 and 1.58 GB/s.
TEST(PageableRates, AreTheMachines) {
  Machine machine = hand_machine();
  machine.driver.pageable_in = {0.79e9};
  machine.driver.pageable_out = {1.58e9};
  sim::SimDriver driver(machine);
  Contents ordinary = pattern(kSize, 1);
  const Address address{reinterpret_cast<std::uintptr_t>(ordinary.data())};
  driver.add_pageable(address, {kSize});
  const Address device = driver.allocate({0}, {kSize});
  const StreamHandle stream = driver.create_stream({0});

  driver.copy_native({device, address, {kSize}, {}}, stream);
  const Seconds in = driver.now();
  driver.copy_native({address, device, {kSize}, {}}, stream);

  EXPECT_NEAR(in.value, 101e-6, 1e-9);
  EXPECT_NEAR((driver.now() - in).value, 51e-6, 1e-9);
}

TEST_F(PageableMemory, RangesBeyondItAreRefused) {
  expect_invalid_argument(
      [&] {
        driver_.copy_native({device_, address() + 1_B, {kSize}, {}}, stream_);
      },
      "source range is too long", "78999 bytes are left");
  expect_invalid_argument(
      [&] {
        driver_.copy_native({device_, address(), 0_B, {}}, stream_);
      },
      "0 bytes");
}

TEST_F(PageableMemory, NothingIsCopiedByACallThatFails) {
  driver_.fail_nth(sim::Call::copy, 1);

  EXPECT_THROW(driver_.copy_native({address(), device_, {kSize}, {}}, stream_), Error);

  EXPECT_TRUE(same_bytes(ordinary_, before_));
}

}  // namespace
}  // namespace polypath::test::sim_pageable_test
