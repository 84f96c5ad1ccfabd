// Memory that ranks open to each other, where an address comes to mean another allocation
// (collective/rank/peer_registration.h).

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <thread>

#include "collective/rank/peer_registration.h"
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
  std::vector<MemoryPart> shareable_parts(Address address, Bytes bytes) override {
    return Driver::shareable_parts(address, bytes);  // NOLINT(bugprone-parent-virtual-call)
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
TEST(PeerRegistration, IsTakenBackWhereALargerAllocationBegins) {
  sim::SimDriver simulated(load_machine("h200x4"));
  ChangingMemory driver(simulated);
  const PlaceId gpu = first_gpus(simulated.machine(), 1).front();
  const Address memory = driver.begin = driver.allocate(gpu, 1_MiB);
  const Address other = driver.allocate(gpu, 1_MiB);
  OpenEnds shared;
  HandleBoard others = shared.notices_of(1);
  PeerRegistration open(driver, gpu, 0, shared.notices_of(0), shared.offers_of(0));
  driver.size = 1_KiB;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(open.lookup_all({memory}, {}, false));
  EXPECT_FALSE(open.lookup_all({other}, {}, false));
  ASSERT_EQ(others.poll().size(), 1U);

  driver.id = 2, driver.size = 1_MiB;
  EXPECT_FALSE(open.lookup_all({memory + 2_KiB}, {}, false));

  const auto news = others.poll();
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].bytes, "");
  driver.free(memory), driver.free(other);
}

/// Counts how often it is asked which allocation is there.
class CountingMemory final : public ForwardingDriver {
 public:
  using ForwardingDriver::ForwardingDriver;
  std::uint64_t memory_id(Address address) override {
    ++asked;
    return ForwardingDriver::memory_id(address);
  }
  std::optional<MemoryInfo> find_memory(Address address) override {
    auto memory = ForwardingDriver::find_memory(address);
    if (memory && is_of_host) memory->kind = MemoryKind::pinned;
    return memory;
  }
  std::vector<MemoryPart> shareable_parts(Address address, Bytes bytes) override {
    return Driver::shareable_parts(address, bytes);  // NOLINT(bugprone-parent-virtual-call)
  }

  int asked = 0;
  bool is_of_host = true;
};

TEST(PeerRegistration, AsksSeldomAboutMemoryThatCannotBeShared) {
  constexpr int kCalls = 200;
  sim::SimDriver simulated(load_machine("h200x4"));
  CountingMemory driver(simulated);
  const PlaceId gpu = first_gpus(simulated.machine(), 1).front();
  const Address memory = driver.allocate(gpu, 1_MiB);
  OpenEnds shared;
  HandleBoard others = shared.notices_of(1);
  PeerRegistration open(driver, gpu, 0, shared.notices_of(0), shared.offers_of(0));

  for (int i = 0; i < kCalls; ++i) EXPECT_FALSE(open.lookup_all({memory}, {}, false));
  EXPECT_LT(driver.asked, kCalls / 20);
  EXPECT_TRUE(others.poll().empty());

  // Another allocation that can be shared comes to be there.
  driver.is_of_host = false;
  driver.free(memory);
  ASSERT_EQ(driver.allocate(gpu, 1_MiB), memory);
  for (int i = 0; i < kCalls; ++i) EXPECT_FALSE(open.lookup_all({memory}, {}, false));
  EXPECT_EQ(others.poll().size(), 1U);
  driver.free(memory);
}

// What lies behind it is an allocation of its own.
TEST(PeerRegistration, DoesNotShareMemoryOfWhichTheEndIsNotKnown) {
  sim::SimDriver simulated(load_machine("h200x4"));
  ChangingMemory driver(simulated);
  const PlaceId gpu = first_gpus(simulated.machine(), 1).front();
  const Address one = driver.allocate(gpu, 1_MiB), other = driver.allocate(gpu, 1_MiB);
  const auto [endless, behind] = std::minmax(one, other);
  driver.begin = endless;
  driver.size = Bytes{std::numeric_limits<std::uint64_t>::max() - endless.value};
  OpenEnds shared;
  HandleBoard others = shared.notices_of(1);
  PeerRegistration open(driver, gpu, 0, shared.notices_of(0), shared.offers_of(0));

  for (int i = 0; i < 8; ++i)
    for (const Address memory : {endless, behind})
      EXPECT_FALSE(open.lookup_all({memory}, {}, false));

  EXPECT_EQ(others.poll().size(), 1U);
  driver.free(endless), driver.free(behind);
}

/// Two ranks, each with memory that the other one imports once it has been used a few times.
class TwoRanks : public testing::Test {
 protected:
  TwoRanks() {
    for (int rank = 0; rank < 2; ++rank) {
      memory_.push_back(driver_.allocate(gpu(rank), 1_MiB));
      ends_.push_back(std::make_unique<PeerRegistration>(
          driver_, gpu(rank), rank, shared_.notices_of(rank), shared_.offers_of(rank)));
    }
  }
  ~TwoRanks() override {
    ends_.clear();
    for (const Address memory : memory_) driver_.free(memory);
  }

  /// Both ask for the same call; true if all memory is open.
  bool call() {
    bool open = false;
    std::jthread other([&] { (void)ends_[1]->lookup_all({memory_[1]}, kLong, false); });
    open = ends_[0]->lookup_all({memory_[0]}, kLong, false).has_value();
    return open;
  }
  void call_until_open() {
    for (int i = 0; i < 20; ++i)
      if (call()) return;
    FAIL() << "it is never open";
  }
  [[nodiscard]] PlaceId gpu(int rank) const { return gpus_[static_cast<std::size_t>(rank)]; }

  static constexpr Seconds kLong{10};

  sim::SimDriver driver_{load_machine("h200x4")};
  std::vector<PlaceId> gpus_ = first_gpus(driver_.machine(), 2);
  OpenEnds shared_;
  std::vector<Address> memory_;
  std::vector<std::unique_ptr<PeerRegistration>> ends_;
};

/// Memory in two parts, of which the second can become another one.
class MemoryInParts final : public ForwardingDriver {
 public:
  using ForwardingDriver::ForwardingDriver;
  std::uint64_t memory_id(Address address) override { return address < begin + kPart ? 1 : second; }
  std::vector<MemoryPart> shareable_parts(Address, Bytes bytes) override {
    if (is_exact && bytes <= kPart) return {{begin, kPart, 1}};
    return {{begin, kPart, 1}, {begin + kPart, kPart, second}};
  }

  static constexpr Bytes kPart{1_MiB};
  Address begin;
  std::uint64_t second = 2;
  bool is_exact = false;  ///< a range has no other parts than it needs
};

// The program frees the second part while a call is queued that it has made with the first one.
TEST(SharedAllocations, StayOpenForCallsThatWereMadeWithAnotherPart) {
  sim::SimDriver simulated(load_machine("h200x4"));
  MemoryInParts driver(simulated);
  const auto gpus = first_gpus(simulated.machine(), 2);
  driver.begin = driver.allocate(gpus[0], MemoryInParts::kPart * 2);
  OpenEnds shared;
  bool is_idle = true, waits = false;
  SharedAllocations own(driver, gpus[0], shared.notices_of(0));
  SharedAllocations other(driver, gpus[1], shared.notices_of(1));
  for (SharedAllocations* const each : {&own, &other}) each->note_use([&] { return is_idle; });
  (void)own.encode(driver.begin, 1_MiB, true, waits);
  other.take_in(false);
  const auto word = own.encode(driver.begin, 1_MiB, true, waits);
  ASSERT_TRUE(word);

  is_idle = false;
  driver.second = 3;
  for (int i = 0; i < 4; ++i) own.look_at_one();
  is_idle = true;  // the other rank's: it comes late to the call
  other.take_in(false);
  EXPECT_EQ(other.find(0, *word), driver.begin);

  own.look_at_one();
  other.note_use([] { return true; });
  other.take_in(false);
  EXPECT_FALSE(other.find(0, *word));
  driver.free(driver.begin);
}

// A graph may run again when nothing is queued, and a part that it does not use has been freed.
TEST(SharedAllocations, StayOpenForGraphsThatUseAnotherPart) {
  sim::SimDriver simulated(load_machine("h200x4"));
  MemoryInParts driver(simulated);
  const auto gpus = first_gpus(simulated.machine(), 2);
  driver.is_exact = true;
  driver.begin = driver.allocate(gpus[0], MemoryInParts::kPart * 2);
  OpenEnds shared;
  bool waits = false;
  SharedAllocations own(driver, gpus[0], shared.notices_of(0));
  SharedAllocations other(driver, gpus[1], shared.notices_of(1));
  for (SharedAllocations* const each : {&own, &other}) each->note_use([] { return true; });
  for (int i = 0; i < 4; ++i) (void)own.encode(driver.begin, 2_MiB, false, waits);
  other.take_in(false);
  ASSERT_TRUE(own.encode(driver.begin, 2_MiB, false, waits));

  (void)own.encode(driver.begin, 1_MiB, true, waits);
  other.take_in(true);
  const auto word = own.encode(driver.begin, 1_MiB, true, waits);
  ASSERT_TRUE(word);
  driver.second = 3;
  for (int i = 0; i < 4; ++i) own.look_at_one(), other.take_in(false);

  EXPECT_TRUE(other.find(0, *word));
  driver.free(driver.begin);
}

// A second after the last call a thread looks.
TEST_F(TwoRanks, ReleaseFreedMemoryWithoutAnotherCall) {
  call_until_open();
  for (const auto& end : ends_) end->note_use([] { return true; });
  const int before = driver_.uses(sim::Call::release_import);

  driver_.free(memory_[1]);
  memory_[1] = driver_.allocate(gpu(1), 1_MiB);

  for (int i = 0; i < 600 && driver_.uses(sim::Call::release_import) == before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(driver_.uses(sim::Call::release_import), before + 1);
}

// A program that finds no room asks for that.
TEST_F(TwoRanks, AreAskedAtOnceForFreedMemory) {
  call_until_open();
  EXPECT_FALSE(SharedAllocations::take_back_freed());

  driver_.free(memory_[1]);
  memory_[1] = driver_.allocate(gpu(1), 1_MiB);
  EXPECT_TRUE(SharedAllocations::take_back_freed());
  (void)call();

  EXPECT_FALSE(SharedAllocations::take_back_freed());
}

// It is kept for queued work, and what it was given may end before it.
TEST_F(TwoRanks, AreLookedAtNoMoreOnceTheyAreAbandoned) {
  call_until_open();
  for (const auto& end : ends_) end->note_use([] { return true; });
  const int before = driver_.uses(sim::Call::release_import);

  ends_[1]->abandon();
  driver_.free(memory_[1]);
  memory_[1] = driver_.allocate(gpu(1), 1_MiB);

  EXPECT_FALSE(SharedAllocations::take_back_freed());
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // threads look after a second
  EXPECT_EQ(driver_.uses(sim::Call::release_import), before);
}

// Rank 1 frees its memory while a call of rank 0 is queued that reads it.
TEST_F(TwoRanks, KeepAnImportAsLongAsAQueuedCallUsesIt) {
  call_until_open();
  bool is_over = false;
  ends_[0]->note_use([&] { return is_over; });
  driver_.free(memory_[1]);
  memory_[1] = driver_.allocate(gpu(1), 1_MiB);
  const int before = driver_.uses(sim::Call::release_import);

  for (int i = 0; i < 5; ++i) (void)call();
  EXPECT_EQ(driver_.uses(sim::Call::release_import), before);

  is_over = true;
  for (int i = 0; i < 2; ++i) (void)call();
  EXPECT_EQ(driver_.uses(sim::Call::release_import), before + 1);
  call_until_open();
}

}  // namespace
}  // namespace polypath::test::changed_memory_test
