// The pinned memory that messages of different sizes pass through one after another.

#include "engine/pageable/pinned_windows.h"

#include <gtest/gtest.h>

#include "driver/sim/sim_driver.h"
#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::pinned_windows_test {
namespace {

class WindowMemory : public testing::Test {
 protected:
  WindowMemory() : driver_(load_machine("h200x4")) {
    gpu_ = driver_.machine().places_of(PlaceKind::gpu).front();
    host_ = driver_.machine().places_of(PlaceKind::host).front();
    stream_ = driver_.create_stream(gpu_);
  }

  /// Queues a copy out of a window, with its event.
  void send(EqualWindows& windows, std::size_t window, Bytes bytes) {
    const Address to = driver_.allocate(gpu_, bytes);
    driver_.copy({.destination = to,
                  .destination_place = gpu_,
                  .source = windows.base(window),
                  .source_place = host_,
                  .bytes = bytes},
                 stream_);
    const EventHandle done = windows.done(window).on(gpu_);
    driver_.record(done, stream_);
    windows.note_sent(window, done);
  }

  sim::SimDriver driver_;
  PlaceId gpu_, host_;
  StreamHandle stream_;
};

TEST_F(WindowMemory, ThereAreMoreOfThemTheSmallerTheyAre) {
  PinnedWindows memory(driver_, host_, 16_MiB, 3);

  EXPECT_EQ(EqualWindows(memory, 16_MiB).count(), 3U);
  EXPECT_EQ(EqualWindows(memory, 8_MiB).count(), 6U);
  EXPECT_EQ(EqualWindows(memory, 5_MiB).count(), 8U);
  EXPECT_EQ(EqualWindows(memory, 2_MiB).count(), 24U);
  EXPECT_EQ(EqualWindows(memory, 64_KiB).count(), 24U);
}

TEST_F(WindowMemory, AreAsManyAsWantedWhateverTheirLargestSize) {
  for (const Bytes largest : {4_KiB, 1_MiB, 2_MiB, 3_MiB, 5_MiB, 7_MiB + 512_B}) {
    PinnedWindows memory(driver_, host_, largest, 3);
    EqualWindows windows(memory, largest);

    EXPECT_EQ(windows.count(), 3U);
    EXPECT_GE(windows.base(1).value - windows.base(0).value, largest.value);
  }
}

TEST_F(WindowMemory, AWindowIsIdleWhenWhatUsesItIsDone) {
  PinnedWindows memory(driver_, host_, 4_MiB, 2);
  EqualWindows windows(memory, 4_MiB);
  EXPECT_TRUE(windows.is_idle(0));

  send(windows, 0, 4_MiB);
  EXPECT_FALSE(windows.is_idle(0));
  EXPECT_NE(windows.pending(0).value, 0U);
  EXPECT_TRUE(windows.is_idle(1));
  driver_.synchronize(stream_);

  EXPECT_TRUE(windows.is_idle(0));
  EXPECT_EQ(windows.pending(0).value, 0U);
}

// To ask the driver takes longer than to copy a small part of a window.
TEST_F(WindowMemory, TheDriverIsAskedOnceForAWindow) {
  PinnedWindows memory(driver_, host_, 16_MiB, 3);
  EqualWindows windows(memory, 16_MiB);
  send(windows, 0, 16_MiB);
  driver_.synchronize(stream_);
  const auto before = driver_.uses(sim::Call::is_done);

  EXPECT_TRUE(windows.is_idle(0));
  EXPECT_TRUE(windows.is_idle(0));

  EXPECT_EQ(driver_.uses(sim::Call::is_done), before + 1);
}

TEST_F(WindowMemory, AMessageOfAnotherSizeWaitsForAllThatLieInItsWindow) {
  PinnedWindows memory(driver_, host_, 4_MiB, 2);
  EqualWindows small(memory, 2_MiB), large(memory, 4_MiB);

  send(small, 1, 2_MiB);
  EXPECT_TRUE(small.is_idle(0));
  EXPECT_FALSE(large.is_idle(0));
  EXPECT_TRUE(large.is_idle(1));
  send(large, 1, 4_MiB);
  EXPECT_FALSE(small.is_idle(2));
  EXPECT_FALSE(small.is_idle(3));
  driver_.synchronize(stream_);

  for (std::size_t window = 0; window < small.count(); ++window) EXPECT_TRUE(small.is_idle(window));
}

}  // namespace
}  // namespace polypath::test::pinned_windows_test
