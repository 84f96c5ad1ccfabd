// Memory whose bytes are not where the driver's user sees them, and memory that is filled.

#include <algorithm>

#include "driver/hand_driver.h"
#include "support/errors.h"

namespace polypath::test::sim_backing_test {
namespace {

constexpr std::size_t kSize = 4096;

using SharedContents = std::shared_ptr<Contents>;

SharedContents hidden(const Contents& contents) { return std::make_shared<Contents>(contents); }

// Its addresses hold nothing that could be touched.
class Hidden final : public sim::Backing {
 public:
  Hidden(Address base, SharedContents bytes) : base_(base), bytes_(std::move(bytes)) {}
  Address base() const override { return base_; }
  std::byte* bytes() const override { return reinterpret_cast<std::byte*>(bytes_->data()); }

 private:
  Address base_;
  SharedContents bytes_;
};

class SimBacking : public HandDriver {
 protected:
  Address adopt(std::uintptr_t base, const SharedContents& bytes, int gpu_index) {
    return driver_.adopt(gpu(gpu_index), Bytes{bytes->size()},
                         std::make_unique<Hidden>(Address{base}, bytes));
  }

  const StreamHandle stream_ = driver_.create_stream(gpu(0));
};

TEST_F(SimBacking, CopiesMoveTheBytesBehindTheAddresses) {
  const SharedContents sent = hidden(pattern(kSize, 1)), received = hidden(pattern(kSize, 2));
  Contents expected = *received;
  std::copy_n(sent->begin() + 3, 1000, expected.begin() + 5);
  const Address source = adopt(0x10000, sent, 0), destination = adopt(0x20000, received, 1);

  driver_.copy({destination + 5_B, gpu(1), source + 3_B, gpu(0), 1000_B, {}}, stream_);
  driver_.synchronize(stream_);

  EXPECT_TRUE(same_bytes(*received, expected));
}

TEST_F(SimBacking, PageableCopiesDoToo) {
  const Contents own = pattern(kSize, 1);
  const SharedContents received = hidden(Contents(kSize));
  const Address device = adopt(0x10000, received, 0);
  const Address ordinary{reinterpret_cast<std::uintptr_t>(own.data())};
  driver_.add_pageable(ordinary, {kSize});

  driver_.copy_native({device, ordinary, {kSize}, {}}, stream_);

  EXPECT_TRUE(same_bytes(*received, own));
}

TEST_F(SimBacking, AdoptedMemoryIsFoundUntilItIsFreed) {
  const SharedContents bytes = hidden(Contents(kSize));
  const Address base = adopt(0x10000, bytes, 1);

  const auto found = driver_.find_memory(base + Bytes{kSize - 1});
  driver_.free(base);

  ASSERT_TRUE(found);
  EXPECT_EQ(found->place, gpu(1));
  EXPECT_EQ(found->base, base);
  EXPECT_FALSE(driver_.find_memory(base));
}

// Each copy alone is fine; only the bytes behind both addresses tell that they collide.
TEST_F(SimBacking, TheSameBytesByTwoAddressesAreARace) {
  const SharedContents shared = hidden(Contents(kSize));
  const Address one = adopt(0x10000, shared, 1), other = adopt(0x20000, shared, 1);
  const Address source = memory(gpu(0), kSize);
  const StreamHandle elsewhere = driver_.create_stream(gpu(0));

  driver_.copy({one, gpu(1), source, gpu(0), {kSize}, {}}, stream_);
  driver_.copy({other, gpu(1), source, gpu(0), {kSize}, {}}, elsewhere);

  ASSERT_EQ(driver_.violations().size(), 1U);
  EXPECT_NE(driver_.violations().front().find("race"), std::string::npos);
}

TEST_F(SimBacking, OneOfTwoAddressesMayBeGivenUpWhileTheOtherIsInUse) {
  const SharedContents shared = hidden(Contents(kSize));
  const Address used = adopt(0x10000, shared, 1), unused = adopt(0x20000, shared, 1);
  const Address source = memory(gpu(0), kSize);

  driver_.copy({used, gpu(1), source, gpu(0), {kSize}, {}}, stream_);
  driver_.free(unused);
  EXPECT_TRUE(driver_.violations().empty());
  driver_.free(used);

  ASSERT_EQ(driver_.violations().size(), 1U);
  EXPECT_NE(driver_.violations().front().find("use after free"), std::string::npos);
}

TEST_F(SimBacking, AFillRepeatsItsPatternInStreamOrder) {
  const Address device = memory(gpu(0), kSize), pinned = memory(kHost, kSize);
  const std::vector<std::byte> three = {std::byte{1}, std::byte{2}, std::byte{3}};
  Contents expected(kSize);
  for (std::size_t i = 0; i < 3000; ++i) expected[100 + i] = static_cast<unsigned char>(1 + i % 3);

  driver_.fill(device, {kSize}, {std::byte{0}}, stream_);
  driver_.fill(device + 100_B, 3000_B, three, stream_);
  driver_.copy({pinned, kHost, device, gpu(0), {kSize}, {}}, stream_);
  driver_.synchronize(stream_);

  EXPECT_TRUE(same_bytes(read(pinned, kSize), expected));
  EXPECT_TRUE(driver_.violations().empty());
}

TEST_F(SimBacking, AFillRacesLikeACopy) {
  const Address device = memory(gpu(0), kSize), pinned = memory(kHost, kSize);
  const StreamHandle elsewhere = driver_.create_stream(gpu(0));

  driver_.copy({pinned, kHost, device, gpu(0), {kSize}, {}}, stream_);
  driver_.fill(device, {kSize}, {std::byte{0}}, elsewhere);

  EXPECT_EQ(driver_.violations().size(), 1U);
}

TEST_F(SimBacking, FillsThatDoNotFitAreRefused) {
  const Address device = memory(gpu(0), kSize);
  const std::vector<std::byte> two(2);

  expect_invalid_argument([&] { driver_.fill(device, 3_B, two, stream_); }, "3 bytes", "2 bytes");
  expect_invalid_argument([&] { driver_.fill(device, 0_B, two, stream_); }, "0 bytes");
  expect_invalid_argument([&] { driver_.fill(device + 8_B, {kSize}, two, stream_); }, "too long");
  expect_invalid_argument([&] { driver_.fill({}, 2_B, two, stream_); }, "2 bytes");
}

// A copy of 40000 bytes at 0.8 GB/s after 1 us for its call and 10 us of latency.
TEST_F(SimBacking, EventsKnowWhenTheirWorkHadFinished) {
  const Address a = memory(gpu(0), 40000), b = memory(gpu(1), 40000);
  const EventHandle idle = driver_.create_event(gpu(0)), copied = driver_.create_event(gpu(0));

  EXPECT_FALSE(driver_.finished_at(idle));
  driver_.record(idle, stream_);
  driver_.copy({b, gpu(1), a, gpu(0), 40000_B, {}}, stream_);
  driver_.record(copied, stream_);
  EXPECT_FALSE(driver_.finished_at(copied));
  driver_.pass_time(Seconds{1});
  EXPECT_TRUE(driver_.is_done(copied));

  EXPECT_NEAR(driver_.finished_at(idle)->value, 2e-6, 1e-12);
  EXPECT_NEAR(driver_.finished_at(copied)->value, (2 + 1 + 10 + 50) * 1e-6, 1e-12);
}

}  // namespace
}  // namespace polypath::test::sim_backing_test
