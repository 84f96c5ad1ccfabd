// Copies of pageable memory go the way that takes less time, by what the last ones took.

#include "engine/learn/way_times.h"

#include <gmock/gmock.h>

#include "machine/load_machine.h"
#include "support/rig.h"

namespace polypath::test::way_times_test {
namespace {

using testing::IsEmpty;

constexpr TransferKind kKind{PlaceId{0}, PlaceId{1}, 4_MiB};

// Copies of one kind whose times are as given.
class Computer {
 public:
  Computer(Seconds windows, Seconds native) : windows_(windows), native_(native) {}

  ComparedWay copy() {
    const WayTimes::Advice advice = times_.suggest(kKind, bounds);
    const bool natively = advice.way == ComparedWay::native;
    if (!natively || advice.timed) times_.note(kKind, advice.way, natively ? native_ : windows_);
    return advice.way;
  }

  // How many of so many copies go natively.
  int native_of(int copies) {
    int count = 0;
    for (int i = 0; i < copies; ++i) count += copy() == ComparedWay::native ? 1 : 0;
    return count;
  }

  void become(Seconds windows, Seconds native) { windows_ = windows, native_ = native; }

  NativeTime bounds = {};

 private:
  WayTimes times_{8};
  Seconds windows_, native_;
};

TEST(WayTimes, TryTheDriverThreeTimesWhereWindowsGain) {
  Computer computer(200_us, 400_us);

  EXPECT_EQ(computer.native_of(16), 3);
  // One in a hundred takes twice as long: one part in a hundred more.
  EXPECT_EQ(computer.native_of(500), 5);
}

TEST(WayTimes, SayWhichWayIsTaken) {
  WayTimes times(8);
  const auto copies_take = [&](Seconds ours, Seconds native) {
    for (int i = 0; i < 40; ++i) {
      const auto way = times.suggest(kKind).way;
      times.note(kKind, way, way == ComparedWay::native ? native : ours);
    }
  };

  EXPECT_FALSE(times.goes_natively(kKind));
  copies_take(300_us, 200_us);
  EXPECT_TRUE(times.goes_natively(kKind));
}

TEST(WayTimes, DoNotTryTheDriverWhereItCannotBeFaster) {
  Computer computer(200_us, 2000_us);
  computer.bounds.at_best = 210_us;

  EXPECT_EQ(computer.native_of(1000), 0);
}

// One try is expected to take 10 ms: a tenth of 500 copies.
TEST(WayTimes, TryTheDriverOnlyWhenThatIsAPartOfWhatCopiesHaveTaken) {
  Computer computer(200_us, 2000_us);
  computer.bounds.expected = 10'000_us;

  EXPECT_EQ(computer.native_of(500), 0);
  EXPECT_EQ(computer.native_of(10), 1);
}

TEST(WayTimes, TryTheDriverOnceWhereItIsPlainlySlower) {
  Computer computer(200_us, 401_us);

  EXPECT_EQ(computer.native_of(16), 1);
}

TEST(WayTimes, LeaveToTheDriverWhatItDoesFaster) {
  Computer computer(540_us, 385_us);  // 4 MiB on one computer with an H100

  // By windows: one that warms up, three that are timed, and one between each two native ones.
  EXPECT_EQ(computer.native_of(16), 16 - 4 - 2);
  // Windows take 1.4 times as long: one in forty tries them.
  EXPECT_GE(computer.native_of(120), 120 - 3);
}

TEST(WayTimes, DoNotLookAtTheFirstOneThroughWindows) {
  WayTimes times(8);
  times.note(kKind, ComparedWay::ours, 1'000'000_us);
  for (int i = 0; i < 3; ++i) {
    times.note(kKind, ComparedWay::ours, 200_us);
    times.note(kKind, ComparedWay::native, 250_us);
  }

  EXPECT_EQ(times.suggest(kKind).way, ComparedWay::ours);
}

TEST(WayTimes, NoticeThatTheOtherWayHasBecomeFaster) {
  Computer computer(200_us, 400_us);
  (void)computer.native_of(50);
  computer.become(800_us, 400_us);

  (void)computer.native_of(10);
  EXPECT_GE(computer.native_of(50), 49);

  computer.become(200_us, 400_us);
  (void)computer.native_of(3 * 100 + 1);  // until three of those that try it
  EXPECT_LE(computer.native_of(50), 1);
}

TEST(WayTimes, OfOneKindSayNothingOfAnother) {
  WayTimes times(8);
  for (int i = 0; i < 4; ++i) {
    times.note(kKind, ComparedWay::ours, 500_us);
    times.note(kKind, ComparedWay::native, 300_us);
  }

  EXPECT_EQ(times.suggest(kKind).way, ComparedWay::native);
  EXPECT_EQ(times.suggest({PlaceId{0}, PlaceId{1}, 8_MiB}).way, ComparedWay::ours);
  EXPECT_EQ(times.suggest({PlaceId{1}, PlaceId{0}, 4_MiB}).way, ComparedWay::ours);
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

TEST(ComparedWays, AreTheDriversWhereThatIsFaster) {
  const Machine machine = machine_with(1000_GBps);
  for (const bool inward : {true, false})
    EXPECT_GE(native_of(machine, window_settings(), inward, 30), 30U - 7U) << inward;
}

TEST(ComparedWays, AreWindowsWhereTheyGain) {
  const Machine machine = machine_with(1_GBps);
  for (const bool inward : {true, false})
    EXPECT_EQ(native_of(machine, window_settings(), inward, 30), 1U) << inward;
}

TEST(ComparedWays, AreNotComparedWhereNothingIsToBeLearnt) {
  Settings settings = window_settings();
  settings.learn = false;

  EXPECT_EQ(native_of(machine_with(1000_GBps), settings, true, 30), 0U);
}

}  // namespace
}  // namespace polypath::test::way_times_test
