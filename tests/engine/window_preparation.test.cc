// Pinned windows for pageable memory are made when they would have been worth it: few at first.

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "support/closed_driver.h"
#include "support/rig.h"

namespace polypath::test::window_preparation_test {
namespace {

using testing::IsEmpty;

constexpr std::size_t kSize = std::size_t{16} << 20;

class WindowPreparation : public testing::Test {
 protected:
  void start_with(int prepare_after, Bytes window = window_settings().pageable_window) {
    Settings settings = window_settings();
    settings.pageable_window = window;
    settings.prepare = "background";
    settings.prepare_after = prepare_after;
    rig_.emplace("beluga", settings);
    stream_ = rig_->stream("gpu0");
    on_gpu_ = &rig_->buffer("gpu0", kSize);
    on_host_ = &rig_->pageable_buffer(kSize);
  }
  // True if it went by windows.
  bool copy_in() { return copy(*on_gpu_, *on_host_); }
  bool copy_out() { return copy(*on_host_, *on_gpu_); }
  bool copy(Buffer& to, const Buffer& from) {
    const std::uint64_t before = rig_->statistics().pageable;
    rig_->copy(to, from, stream_);
    rig_->synchronize();
    return rig_->statistics().pageable > before;
  }
  void expect_all_is_right() {
    EXPECT_TRUE(rig_->intact());
    EXPECT_THAT(rig_->close(), IsEmpty());
  }

  std::optional<Rig> rig_;
  StreamHandle stream_;
  Buffer* on_gpu_ = nullptr;
  Buffer* on_host_ = nullptr;
};

// 40 ms of cost at the usual 5 ms, and 16 MiB gain 1.7 ms: from 210 us on they are too small.
TEST_F(WindowPreparation, ACopyThatGainsWhatTheyCostMakesThem) {
  start_with(70);

  EXPECT_TRUE(copy_in());
  expect_all_is_right();
}

TEST_F(WindowPreparation, SmallerCopiesGoWithoutUntilTogetherTheyWouldHaveGainedThat) {
  start_with(5000);

  for (int i = 0; i < 20; ++i) EXPECT_FALSE(copy_in());
  expect_all_is_right();
}

TEST_F(WindowPreparation, ThenTheyAreMadeInTheBackground) {
  start_with(500);
  int native = 0;
  while (native < 10000 && !copy_in()) {
    ++native;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the background gets a CPU
  }

  EXPECT_GE(native, 3);
  EXPECT_LT(native, 10000);
  expect_all_is_right();
}

// A context takes as long as gigabytes of copies. So windows go in the program's stream until there
// is one for another reason.
TEST_F(WindowPreparation, MakesNoContext) {
  start_with(100);
  rig_->use<ClosedDriver>();
  const int streams = rig_->driver().uses(sim::Call::create_stream);

  EXPECT_TRUE(copy_in());
  EXPECT_TRUE(copy_out());

  EXPECT_EQ(rig_->driver().uses(sim::Call::create_stream), streams);
  expect_all_is_right();
}

TEST_F(WindowPreparation, HasAStreamOfItsOwnWhereThereIsAContext) {
  start_with(100);
  const int streams = rig_->driver().uses(sim::Call::create_stream);

  EXPECT_TRUE(copy_in());
  EXPECT_TRUE(copy_in());

  EXPECT_EQ(rig_->driver().uses(sim::Call::create_stream), streams + 1);
  expect_all_is_right();
}

// Of 8 MiB the first ones have 4, so that they cost half.
TEST_F(WindowPreparation, FewAreMadeFirstAndAllWhenCopiesHaveGainedWhatTheyCost) {
  const auto pinned = [this](std::size_t each) {
    return testing::Contains(std::to_string((Bytes{each} * (3 << 20)).value) + " bytes at host0");
  };
  start_with(300, 8_MiB);
  EXPECT_TRUE(copy_in());
  EXPECT_THAT(rig_->driver().leaks(), pinned(4));

  for (int i = 0; i < 10000 && !testing::Matches(pinned(8))(rig_->driver().leaks()); ++i) {
    EXPECT_TRUE(copy_in());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the background gets a CPU
  }

  EXPECT_THAT(rig_->driver().leaks(), pinned(8));
  EXPECT_TRUE(copy_in());
  expect_all_is_right();
}

}  // namespace
}  // namespace polypath::test::window_preparation_test
