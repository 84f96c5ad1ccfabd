// Copies of pageable memory go the way that takes less time, by what the last ones took.

#include "engine/pageable/pageable_times.h"

#include <gmock/gmock.h>

#include "machine/load_machine.h"
#include "support/rig.h"

namespace polypath::test::pageable_times_test {
namespace {

using testing::IsEmpty;

constexpr TransferKind kKind{PlaceId{0}, PlaceId{1}, 4_MiB};

// Copies of one kind whose times are as given.
class Computer {
 public:
  Computer(Seconds windows, Seconds native) : windows_(windows), native_(native) {}

  PageableWay copy() {
    const PageableTimes::Advice advice = times_.suggest(kKind);
    const bool natively = advice.way == PageableWay::native;
    if (!natively || advice.timed) times_.note(kKind, advice.way, natively ? native_ : windows_);
    return advice.way;
  }

  // How many of so many copies go natively.
  int native_of(int copies) {
    int count = 0;
    for (int i = 0; i < copies; ++i) count += copy() == PageableWay::native ? 1 : 0;
    return count;
  }

  void become(Seconds windows, Seconds native) { windows_ = windows, native_ = native; }

 private:
  PageableTimes times_{8};
  Seconds windows_, native_;
};

TEST(PageableTimes, TryTheDriverThreeTimesWhereWindowsGain) {
  Computer computer(200_us, 400_us);

  EXPECT_EQ(computer.native_of(16), 3);
  // One in a hundred takes twice as long: one part in a hundred more.
  EXPECT_EQ(computer.native_of(500), 5);
}

TEST(PageableTimes, TryTheDriverOnceWhereItIsPlainlySlower) {
  Computer computer(200_us, 401_us);

  EXPECT_EQ(computer.native_of(16), 1);
}

TEST(PageableTimes, LeaveToTheDriverWhatItDoesFaster) {
  Computer computer(540_us, 385_us);  // 4 MiB on one computer with an H100

  // By windows: one that warms up, three that are timed, and one between each two native ones.
  EXPECT_EQ(computer.native_of(16), 16 - 4 - 2);
  // Windows take 1.4 times as long: one in forty tries them.
  EXPECT_GE(computer.native_of(120), 120 - 3);
}

TEST(PageableTimes, DoNotLookAtTheFirstOneThroughWindows) {
  PageableTimes times(8);
  times.note(kKind, PageableWay::windows, 1'000'000_us);
  for (int i = 0; i < 3; ++i) {
    times.note(kKind, PageableWay::windows, 200_us);
    times.note(kKind, PageableWay::native, 250_us);
  }

  EXPECT_EQ(times.suggest(kKind).way, PageableWay::windows);
}

TEST(PageableTimes, NoticeThatTheOtherWayHasBecomeFaster) {
  Computer computer(200_us, 400_us);
  (void)computer.native_of(50);
  computer.become(800_us, 400_us);

  (void)computer.native_of(10);
  EXPECT_GE(computer.native_of(50), 49);

  computer.become(200_us, 400_us);
  (void)computer.native_of(3 * 100 + 1);  // until three of those that try it
  EXPECT_LE(computer.native_of(50), 1);
}

TEST(PageableTimes, OfOneKindSayNothingOfAnother) {
  PageableTimes times(8);
  for (int i = 0; i < 4; ++i) {
    times.note(kKind, PageableWay::windows, 500_us);
    times.note(kKind, PageableWay::native, 300_us);
  }

  EXPECT_EQ(times.suggest(kKind).way, PageableWay::native);
  EXPECT_EQ(times.suggest({PlaceId{0}, PlaceId{1}, 8_MiB}).way, PageableWay::windows);
  EXPECT_EQ(times.suggest({PlaceId{1}, PlaceId{0}, 4_MiB}).way, PageableWay::windows);
}

// --- by an engine ---

// A computer whose driver copies pageable memory at this rate, in virtual time.
Machine machine_with(BytesPerSecond driver) {
  Machine machine = load_machine("h200x4");
  machine.driver.pageable_in = machine.driver.pageable_out = driver;
  return machine;
}

std::uint64_t native_of(const Machine& machine, const Settings& settings, bool inward, int copies) {
  Rig rig(machine, settings);
  Buffer& host = rig.pageable_buffer(1 << 20);
  Buffer& gpu = rig.buffer("gpu0", 1 << 20);
  const StreamHandle stream = rig.stream("gpu0");
  for (int i = 0; i < copies; ++i) {
    inward ? rig.copy(gpu, host, stream) : rig.copy(host, gpu, stream);
    EXPECT_TRUE(rig.intact());
  }
  const std::uint64_t native = rig.statistics().native;
  EXPECT_EQ(rig.statistics().pageable, static_cast<std::uint64_t>(copies) - native);
  EXPECT_THAT(rig.close(), IsEmpty());
  return native;
}

TEST(PageableWays, AreTheDriversWhereThatIsFaster) {
  const Machine machine = machine_with(1000_GBps);
  for (const bool inward : {true, false})
    EXPECT_GE(native_of(machine, window_settings(), inward, 30), 30U - 7U) << inward;
}

TEST(PageableWays, AreWindowsWhereTheyGain) {
  const Machine machine = machine_with(1_GBps);
  for (const bool inward : {true, false})
    EXPECT_EQ(native_of(machine, window_settings(), inward, 30), 1U) << inward;
}

TEST(PageableWays, AreNotComparedWhereNothingIsToBeLearnt) {
  Settings settings = window_settings();
  settings.learn = false;

  EXPECT_EQ(native_of(machine_with(1000_GBps), settings, true, 30), 0U);
}

}  // namespace
}  // namespace polypath::test::pageable_times_test
