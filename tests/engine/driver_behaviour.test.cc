// What a machine's file says of its driver decides what the engine does there.

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "machine/load_machine.h"
#include "support/rig.h"

namespace polypath::test::driver_behaviour_test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

Machine beluga_with(const DriverBehaviour& driver) {
  Machine machine = load_machine("beluga");
  machine.driver = driver;
  return machine;
}

// --- queues ---

// Two transfers of 200 entries each behind a copy that takes long.
FallbackReason met_by_the_second(const DriverBehaviour& driver) {
  Rig rig(beluga_with(driver), small_settings());
  const StreamHandle stream = rig.stream("gpu0");
  Buffer& source = rig.buffer("gpu0", 64 * kMiB);
  Buffer& destination = rig.buffer("gpu1", 64 * kMiB);
  PlanOptions options = forced({"direct", "gpu2"}, Executor::stream);
  options.chunks = {{"gpu2", 100}};
  rig.copy(destination, source, stream, forced({"direct"}, Executor::native));
  rig.copy(destination, 0, source, 0, kMiB, stream, options);
  return rig.copy(destination, 0, source, 0, kMiB, stream, options).obstacle;
}

TEST(StreamEntries, AreTheMachines) {
  DriverBehaviour driver;
  EXPECT_EQ(met_by_the_second(driver), FallbackReason::none);

  driver.stream_entries = 256;

  EXPECT_EQ(met_by_the_second(driver), FallbackReason::queue_full);
}

// --- windows ---

TEST(WindowThreads, FewerThanTheMachineWantsDoNotPay) {
  DriverBehaviour driver;
  driver.windows_threads_least = 1;
  EXPECT_TRUE(Rig(beluga_with(driver), {}).engine().windows_pay());

  driver.windows_threads_least = 1024;

  EXPECT_FALSE(Rig(beluga_with(driver), {}).engine().windows_pay());
}

std::ptrdiff_t threads_of_this_process() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return std::distance(begin(threads), end(threads));
}

// One is the caller.
TEST(WindowThreads, AreNotMoreThanTheMachineTakes) {
  DriverBehaviour driver;
  driver.windows_threads = driver.windows_threads_least = 1;
  Settings settings = window_settings();
  settings.copy_threads = 0;
  Rig rig(beluga_with(driver), settings);
  const std::ptrdiff_t before = threads_of_this_process();

  rig.copy(rig.buffer("gpu0", kMiB), rig.pageable_buffer(kMiB), rig.stream("gpu0"));

  EXPECT_EQ(threads_of_this_process(), before);
  EXPECT_EQ(rig.statistics().pageable, 1U);
  EXPECT_TRUE(rig.intact());
}

// True if one copy of 16 MiB makes windows, where the background may make what pays.
bool makes_windows(const DriverBehaviour& driver, bool inward) {
  Settings settings = window_settings();
  settings.prepare = "background";
  Rig rig(beluga_with(driver), settings);
  Buffer& gpu = rig.buffer("gpu0", 16 * kMiB);
  Buffer& host = rig.pageable_buffer(16 * kMiB);
  rig.copy(inward ? gpu : host, inward ? host : gpu, rig.stream("gpu0"));
  return rig.statistics().pageable == 1;
}

TEST(Windows, AreMadeWhereTheyCostWhatTheyGain) {
  DriverBehaviour driver;
  EXPECT_FALSE(makes_windows(driver, true));

  driver.windows_cost = 1000_us;  // 16 MiB gain 1.7 ms

  EXPECT_TRUE(makes_windows(driver, true));
}

TEST(Windows, AreMadeWhereTheyGainWhatTheyCost) {
  DriverBehaviour driver;
  driver.windows_gain_in = {0.1e9};  // 16 MiB gain 168 ms, windows cost 110

  EXPECT_TRUE(makes_windows(driver, true));
  EXPECT_FALSE(makes_windows(driver, false));
}

TEST(Windows, GainAsTheMachineSaysOutOfAGpu) {
  DriverBehaviour driver;
  driver.windows_gain_out = {0.1e9};

  EXPECT_TRUE(makes_windows(driver, false));
  EXPECT_FALSE(makes_windows(driver, true));
}

}  // namespace
}  // namespace polypath::test::driver_behaviour_test
