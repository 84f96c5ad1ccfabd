// What the engine makes in the background is begun when it would have been worth it, and copies go
// natively until it is there; nothing branches off where the caller says that it must not.

#include <gmock/gmock.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "machine/load_machine.h"
#include "support/closed_driver.h"
#include "support/forwarding_driver.h"
#include "support/held_stream.h"
#include "support/rig.h"

namespace polypath::test::preparation_test {
namespace {

using testing::IsEmpty;

constexpr std::size_t kSize = std::size_t{16} << 20;

Settings prepared_after(int microseconds) {
  Settings settings;
  settings.prepare = "background";
  settings.prepare_after = microseconds;
  return settings;
}

// Two GPUs of beluga, between which 16 MiB gain by three paths.
class Preparation : public testing::Test {
 protected:
  void start(const Settings& settings, const char* machine = "beluga", std::size_t size = kSize) {
    start_on(load_machine(machine), settings, size);
  }
  void start_on(const Machine& machine, const Settings& settings, std::size_t size = kSize) {
    rig_.emplace(machine, settings);
    stream_ = rig_->stream("gpu0");
    source_ = &rig_->buffer("gpu0", size);
    destination_ = &rig_->buffer("gpu1", size);
  }
  CopyResult copy(int unasked = 0) {
    CopyCall call = rig_->call(*destination_, 0, *source_, 0, source_->expected.size(), stream_);
    call.unasked = unasked;
    destination_->expected = source_->expected;
    return rig_->engine().copy(call);
  }
  // How many were native before the first one that was not; at most `most`.
  int native_copies(
      int most, const std::function<void()>& before = [] {}, int unasked = 0) {
    for (int i = 0; i < most; ++i) {
      before();
      const CopyResult result = copy(unasked);
      rig_->synchronize();
      if (result.executor != Executor::native) return i;
      EXPECT_EQ(result.obstacle, FallbackReason::preparing);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the background gets a CPU
    }
    return most;
  }
  void expect_all_is_right() {
    EXPECT_TRUE(rig_->intact());
    EXPECT_THAT(rig_->close(), IsEmpty());
  }
  PlanPointer plan() {
    const Bytes bytes{source_->expected.size()};
    return rig_->engine().plan(source_->place, destination_->place, bytes);
  }

  [[nodiscard]] static std::size_t paths_of(const CopyResult& result) {
    return result.executor == Executor::native ? 1 : result.plan->shape.paths.size();
  }
  // The first copy over more paths than that.
  CopyResult copy_until_more_than(std::size_t paths) {
    CopyResult result;
    for (int i = 0; i < 10000 && paths_of(result = copy()) <= paths; ++i) {
      rig_->synchronize();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the background gets a CPU
    }
    return result;
  }
  void wait_for_plan_to(const Buffer& place) {
    while (!rig_->engine().known_plan(source_->place, place.place, Bytes{kSize}))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  std::optional<Rig> rig_;
  StreamHandle stream_;
  Buffer* source_ = nullptr;
  Buffer* destination_ = nullptr;
};

TEST_F(Preparation, BeginsAtOnceIfItCostsNothing) {
  start(prepared_after(0));

  const int native = native_copies(10000);

  EXPECT_GE(native, 2);  // one without a plan, one without streams
  EXPECT_LT(native, 10000);
  expect_all_is_right();
}

// Once a plan is known: by the copy that asks, and by those like it before it that did not.
TEST_F(Preparation, SaysWhatIsMissedMeanwhile) {
  start(prepared_after(1'000'000'000));
  const auto missed = [&](int unasked) {
    const Seconds seconds = copy(unasked).missed;
    rig_->synchronize();
    return seconds;
  };
  while (missed(0) == Seconds{}) std::this_thread::sleep_for(std::chrono::milliseconds(1));

  const Seconds once = missed(0), four_times = missed(3);

  EXPECT_LE(once, plan()->native_predicted - plan()->predicted);
  EXPECT_DOUBLE_EQ(four_times.value, 4 * once.value);
  expect_all_is_right();
}

// The copies would gain more than a tenth of their time: so that is what counts.
TEST_F(Preparation, BeginsWhenCopiesHaveTakenTenTimesWhatItMayCost) {
  start(prepared_after(5000));
  const Seconds natively = plan()->native_predicted;
  const int long_enough = static_cast<int>(std::ceil(10 * 5e-3 / natively.value));

  const int native = native_copies(10000);

  EXPECT_GT(natively - plan()->predicted, natively * 0.1);
  EXPECT_GE(native, long_enough);
  EXPECT_LT(native, 10000);
  expect_all_is_right();
}

// More than a million copies of 16 MiB: too many for the test, were they not counted.
TEST_F(Preparation, CountsCopiesThatItWasNotAskedAbout) {
  constexpr int kUnasked = 99'999;
  start(prepared_after(100'000'000));
  const Seconds natively = plan()->native_predicted;
  const int long_enough = static_cast<int>(1000 / natively.value / kUnasked);

  const int native = native_copies(
      10000, [] {}, kUnasked);

  EXPECT_GE(native, long_enough);
  EXPECT_LT(native, 10000);
  expect_all_is_right();
}

// Behind h200x4's switch the host path gains less than a tenth.
TEST_F(Preparation, BeginsWhenCopiesWouldHaveGainedWhatItCosts) {
  start(prepared_after(500), "h200x4", 4 * kSize);
  const Seconds gain = plan()->native_predicted - plan()->predicted;
  const int worth_it = static_cast<int>(std::ceil(500e-6 / gain.value));

  const int native = native_copies(10000);

  EXPECT_LT(gain, plan()->native_predicted * 0.1);
  EXPECT_GE(native, worth_it);
  EXPECT_LT(native, 10000);
  expect_all_is_right();
}

TEST_F(Preparation, NeverBeginsInAShortProgram) {
  start(prepared_after(1000000));

  EXPECT_EQ(native_copies(50), 50);
  EXPECT_EQ(rig_->statistics().staged_bytes.value, 0U);
  expect_all_is_right();
}

// --- beside allocations ---

// The price is 16 times as high: 16 * 10 * 200 us of copying. Each copy is beside an allocation.
TEST_F(Preparation, OfAContextIsPutOffWhileTheProgramAllocates) {
  start(prepared_after(200));
  rig_->use<ClosedDriver>();
  const Seconds natively = plan()->native_predicted;

  const int native = native_copies(10000, [this] { rig_->engine().note_allocation(); });

  EXPECT_GE(native, 16 * 10 * 200e-6 / natively.value - 1);
  EXPECT_LT(native, 10000);
  expect_all_is_right();
}

// On this machine it is not put off at all.
TEST_F(Preparation, OfAContextIsPutOffAsMuchAsTheMachineSays) {
  Machine machine = load_machine("beluga");
  machine.driver.context_beside_allocations = 1;
  start_on(machine, prepared_after(2000));
  rig_->use<ClosedDriver>();
  const Seconds natively = plan()->native_predicted;

  const int native = native_copies(10000, [this] { rig_->engine().note_allocation(); });

  EXPECT_GE(native, 10 * 2000e-6 / natively.value - 1);
  EXPECT_LT(native, 16 * 10 * 2000e-6 / natively.value - 1);
  expect_all_is_right();
}

// 50 ms after the allocation it counts no more: 50 ms of copies are enough then, instead of 800.
TEST_F(Preparation, OfAContextIsNotPutOffForLong) {
  start(prepared_after(5000));
  rig_->use<ClosedDriver>();
  const Seconds natively = plan()->native_predicted;
  rig_->engine().note_allocation();

  const int native = native_copies(10000);

  EXPECT_LT(native, 0.4 / natively.value);
  expect_all_is_right();
}

// --- GPUs of other processes ---

// Only the sender's GPU has a context, and others use the GPUs that the test names.
class SharedGpus final : public ForwardingDriver {
 public:
  SharedGpus(Driver& real, PlaceId own, PlaceSet used) : ForwardingDriver(real), used_(used) {
    opened_.insert(own);
  }
  void open_hop(PlaceId source, PlaceId destination, bool pulled) override {
    {
      const std::scoped_lock lock(mutex_);
      opened_.insert(source), opened_.insert(destination);
    }
    ForwardingDriver::open_hop(source, destination, pulled);
  }
  bool is_open(PlaceId place) override {
    const std::scoped_lock lock(mutex_);
    return opened_.contains(place);
  }
  bool is_used_by_others(PlaceId gpu) override { return used_.contains(gpu); }

 private:
  std::mutex mutex_;
  PlaceSet opened_, used_;
};

// Two GPUs: its own, from which it copies to the host, and those of the others.
class PreparationBesideOthers : public Preparation {
 protected:
  void start_beside(std::initializer_list<const char*> used) {
    rig_.emplace(load_machine("beluga"), prepared_after(500));
    PlaceSet others;
    for (const char* gpu : used) others.insert(rig_->machine().find_place(gpu));
    rig_->use<SharedGpus>(rig_->machine().find_place("gpu0"), others);
    stream_ = rig_->stream("gpu0");
    source_ = &rig_->buffer("gpu0", kSize);
    destination_ = &rig_->buffer("host", kSize);
  }
  [[nodiscard]] std::set<std::string> relays_of(const Plan& plan) const {
    std::set<std::string> relays;
    for (const PathShape& part : plan.shape.paths)
      if (part.path.staged())
        relays.insert(rig_->machine().place(staging_place(rig_->machine(), part.path)).name);
    return relays;
  }
};

// Each of the three contexts is ten times as dear: 3 * 10 * 10 * 500 us of copying.
TEST_F(PreparationBesideOthers, OfAllRelaysIsPutOff) {
  start_beside({"gpu1", "gpu2", "gpu3"});
  const Seconds natively = plan()->native_predicted;
  const std::size_t relays = plan()->shape.paths.size() - 1;

  const int native = native_copies(10000);

  EXPECT_GE(native, static_cast<double>(relays) * 10 * 10 * 500e-6 / natively.value - 1);
  EXPECT_LT(native, 10000);
  expect_all_is_right();
}

// The relay that is not used is made as if there were no others.
TEST_F(PreparationBesideOthers, OfAFreeRelayIsNot) {
  start_beside({"gpu2", "gpu3"});
  const Seconds natively = plan()->native_predicted;
  ASSERT_THAT(relays_of(*plan()), testing::IsSupersetOf({"gpu1"}));

  const int native = native_copies(10000);

  EXPECT_LT(native, 2 * 10 * 500e-6 / natively.value + 20);
  EXPECT_EQ(relays_of(*copy().plan), std::set<std::string>{"gpu1"});
  expect_all_is_right();
}

// --- one relay after another ---

// Hops to and from a place are opened when the test says so.
class SlowDriver final : public ForwardingDriver {
 public:
  SlowDriver(Driver& real, PlaceId slow) : ForwardingDriver(real), slow_(slow) {}
  void open_hop(PlaceId source, PlaceId destination, bool pulled) override {
    while (!opens && (source == slow_ || destination == slow_)) {
      waits = true;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    ForwardingDriver::open_hop(source, destination, pulled);
  }
  std::atomic<bool> opens{true};
  std::atomic<bool> waits{false};

 private:
  PlaceId slow_;
};

// Counts the memory for staging.
class StagingDriver final : public ForwardingDriver {
 public:
  using ForwardingDriver::ForwardingDriver;
  Address allocate_staging(PlaceId place, const StagingUsers& users, Bytes bytes) override {
    ++rings;
    return ForwardingDriver::allocate_staging(place, users, bytes);
  }
  std::atomic<int> rings{0};
};

TEST_F(Preparation, OfARelayIsNotWaitedForWhereOthersAreReady) {
  start(prepared_after(0));
  const std::size_t all = plan()->shape.paths.size();
  const PlaceId last = staging_place(rig_->machine(), plan()->shape.paths.back().path);
  auto& slow = rig_->use<SlowDriver>(last);
  slow.opens = false;

  const CopyResult early = copy_until_more_than(all - 2);
  slow.opens = true;
  const CopyResult late = copy_until_more_than(all - 1);

  EXPECT_EQ(paths_of(early), all - 1);
  for (const PathShape& part : early.plan->shape.paths)
    if (part.path.staged()) EXPECT_NE(staging_place(rig_->machine(), part.path), last);
  EXPECT_EQ(paths_of(late), all);
  expect_all_is_right();
}

// The program makes no other copy.
TEST_F(Preparation, BeginsWithoutAnotherCopyOnceThereIsAPlan) {
  start(prepared_after(0));
  const auto& driver = rig_->use<StagingDriver>();

  EXPECT_EQ(copy().obstacle, FallbackReason::preparing);
  rig_->synchronize();
  for (int i = 0; i < 10000 && driver.rings == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));

  EXPECT_GT(driver.rings, 0);
  expect_all_is_right();
}

// Copies that went before there was an engine: none comes through it.
TEST_F(Preparation, BeginsForCopiesThatWentBefore) {
  start(prepared_after(5000));
  const auto& driver = rig_->use<StagingDriver>();
  CopyCall early = rig_->call(*destination_, 0, *source_, 0, source_->expected.size(), stream_);
  early.unasked = static_cast<int>(std::ceil(10 * 5e-3 / plan()->native_predicted.value));

  (void)rig_->engine().count_native(early, {destination_->place, source_->place});

  for (int i = 0; i < 10000 && driver.rings == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GT(driver.rings, 0);
  expect_all_is_right();
}

// Says when a hop is being opened, and goes on once the engine is being stopped.
class StoppedDriver final : public ForwardingDriver {
 public:
  using ForwardingDriver::ForwardingDriver;
  void open_hop(PlaceId source, PlaceId destination, bool pulled) override {
    ++opened;
    while (!stopping) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // for the stop to be seen
    ForwardingDriver::open_hop(source, destination, pulled);
  }
  std::atomic<int> opened{0};
  std::atomic<bool> stopping{false};
};

TEST_F(Preparation, GoesOnForOneRelayAtMostOnceItIsStopped) {
  start(prepared_after(0));
  const auto hops = static_cast<int>(2 * plan()->shape.paths.size());  // two for each staged path
  auto& driver = rig_->use<StoppedDriver>();
  (void)copy();
  rig_->synchronize();
  while (driver.opened == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));

  driver.stopping = true;
  rig_->engine().stop_preparing();

  EXPECT_LT(driver.opened, hops - 2);
  expect_all_is_right();
}

// Memory that comes after the last copy is to be given back as well.
TEST_F(Preparation, IsToBeReckonedWithWhileItIsPlanned) {
  start(prepared_after(0));

  (void)copy();

  EXPECT_TRUE(rig_->engine().has_staging());
  rig_->synchronize();
  expect_all_is_right();
}

// --- while a lane lacks memory ---

// A lane has staging memory. It is to have more, but only after another one, which has begun: that
// one belongs to another stream, whose copies found the first lane in use.
TEST_F(Preparation, DoesNotKeepMemoryForWhatItHasNotBegun) {
  start(prepared_after(0));
  auto& slow = rig_->use<SlowDriver>(rig_->machine().find_place("host0"));
  (void)copy_until_more_than(plan()->shape.paths.size() - 1);
  rig_->synchronize();
  Buffer& second = rig_->buffer("gpu2", kSize);
  Buffer& third = rig_->buffer("gpu3", kSize);
  wait_for_plan_to(third);
  slow.opens = false;
  HeldStream held(rig_->driver(), stream_, source_->place);
  (void)copy();
  const StreamHandle other = rig_->stream("gpu0");
  while (!slow.waits) {
    (void)rig_->copy(second, *source_, other);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  held.release();
  rig_->synchronize();
  const CopyResult not_begun = rig_->copy(third, *source_, stream_);
  rig_->synchronize();

  const bool given_back = rig_->engine().release_memory({1});
  slow.opens = true;

  EXPECT_EQ(not_begun.obstacle, FallbackReason::preparing);
  EXPECT_TRUE(given_back);
  expect_all_is_right();
}

// A plan that cannot be made is the caller's mistake, and is said in the call.
TEST_F(Preparation, WhatIsAskedForAndCannotBeIsRefusedAllTheSame) {
  start(prepared_after(0));

  EXPECT_THROW((void)rig_->copy(*destination_, *source_, stream_,
                                forced({"direct", "moon"}, Executor::stream)),
               Error);
  expect_all_is_right();
}

}  // namespace
}  // namespace polypath::test::preparation_test
