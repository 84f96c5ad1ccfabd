// Copies between pageable memory and GPUs: every byte, at the right time, through pinned windows.

#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "machine/load_machine.h"
#include "support/rig.h"
#include "support/sanitizers.h"

namespace polypath::test::pageable_test {
namespace {

using testing::IsEmpty;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kWindow = 64 << 10;

PlanOptions executor_options(std::optional<Executor> executor) {
  PlanOptions options;
  options.executor = executor;
  return options;
}

// --- every size, both ways ---

struct Kind {
  std::string machine;
  bool inward;
};

class EveryWay : public testing::TestWithParam<Kind> {
 protected:
  void copy_sizes(const Settings& settings, const PlanOptions& options,
                  const std::vector<std::size_t>& sizes) {
    constexpr std::size_t kGuard = 4096;
    Rig rig(GetParam().machine, settings);
    const StreamHandle stream = rig.stream("gpu1");
    for (const std::size_t size : sizes) {
      Buffer& host = rig.pageable_buffer(size + 2 * kGuard);
      Buffer& gpu = rig.buffer("gpu1", size + 2 * kGuard);
      Buffer& source = GetParam().inward ? host : gpu;
      Buffer& destination = GetParam().inward ? gpu : host;
      rig.copy(destination, kGuard + 1, source, kGuard + 3, size, stream, options);
      if (!GetParam().inward) EXPECT_TRUE(Rig::intact(host)) << size << " bytes, on return";
      EXPECT_TRUE(rig.intact()) << size << " bytes";
    }
    check_counts(rig.statistics(), settings, options, sizes);
    EXPECT_THAT(rig.close(), IsEmpty());
  }

  static void check_counts(const Statistics& counted, const Settings& settings,
                           const PlanOptions& options, const std::vector<std::size_t>& sizes) {
    const auto windowed = std::count_if(sizes.begin(), sizes.end(), [&](std::size_t size) {
      return options.executor != Executor::native && size >= settings.pageable_min.value;
    });
    const auto none = std::count(sizes.begin(), sizes.end(), std::size_t{0});
    EXPECT_EQ(counted.transfers, sizes.size() - static_cast<std::size_t>(none));
    EXPECT_EQ(counted.pageable, static_cast<std::uint64_t>(windowed));
    EXPECT_EQ(counted.native, counted.transfers - counted.pageable);
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, EveryWay,
                         testing::Values(Kind{"h200x4", true}, Kind{"h200x4", false},
                                         Kind{"beluga", true}, Kind{"beluga", false},
                                         Kind{"nop2p4", true}, Kind{"nop2p4", false}),
                         [](const auto& info) {
                           return info.param.machine + (info.param.inward ? "_in" : "_out");
                         });

const std::vector<std::size_t> kSizes{
    0, 1, 511, 512, 513, 4097, kWindow - 1, kWindow, kWindow + 1, 3 * kWindow, 300007, kMiB + 13};

TEST_P(EveryWay, CopiesEveryByteAsPlanned) {
  for (const auto executor : std::initializer_list<std::optional<Executor>>{
           std::nullopt, Executor::native, Executor::stream, Executor::graph})
    copy_sizes(window_settings(), executor_options(executor), kSizes);
}

TEST_P(EveryWay, CopiesEveryByteOverAllPaths) {
  const Machine machine = load_machine(GetParam().machine);
  const std::string source = GetParam().inward ? "host" : "gpu1";
  const std::string destination = GetParam().inward ? "gpu1" : "host";
  for (const std::optional<Executor> executor : {Executor::stream, Executor::graph})
    copy_sizes(window_settings(), over_all_paths(machine, source, destination, executor), kSizes);
}

TEST_P(EveryWay, CopiesEveryByteByDefault) {
  Settings settings;
  settings.copy_threads = 3;  // by default as many as there are CPUs, and none where those are few
  copy_sizes(
      settings, {},
      {kMiB - 1, kMiB, kMiB + 1, 2 * kMiB + 1, 7 * kMiB + 5, (kSanitized ? 9 : 70) * kMiB + 13});
}

TEST_P(EveryWay, OneThreadIsEnough) {
  Settings settings = window_settings();
  settings.copy_threads = 1;
  settings.pageable_windows = 2;
  copy_sizes(settings, {}, kSizes);
}

// --- stream order ---

TEST(PageableOrder, ACopyOutComesAfterWhatIsInTheStream) {
  Rig rig("beluga", window_settings());
  Buffer& first = rig.buffer("host", kMiB);
  Buffer& middle = rig.buffer("gpu0", kMiB);
  Buffer& last = rig.pageable_buffer(kMiB);
  const StreamHandle stream = rig.stream("gpu0");

  rig.copy(middle, first, stream);
  rig.copy(last, middle, stream);

  EXPECT_TRUE(Rig::intact(last));
  EXPECT_TRUE(rig.intact());
  EXPECT_THAT(rig.close(), IsEmpty());
}

// On return the source has been read; the bytes arrive before what comes next in the stream.
TEST(PageableOrder, ACopyInComesBeforeWhatFollowsAndItsSourceMayBeUsedAgain) {
  Rig rig("beluga", window_settings());
  Buffer& source = rig.pageable_buffer(kMiB);
  Buffer& middle = rig.buffer("gpu0", kMiB);
  Buffer& last = rig.buffer("gpu1", kMiB);
  const StreamHandle stream = rig.stream("gpu0");

  rig.copy(middle, source, stream);
  std::fill(source.ordinary.begin(), source.ordinary.end(), std::uint8_t{0});
  source.expected = source.ordinary;
  rig.copy(last, middle, stream);

  EXPECT_TRUE(rig.intact());
  EXPECT_THAT(rig.close(), IsEmpty());
}

TEST(PageableOrder, CopiesOfSeveralStreamsAndGpusShareTheWindows) {
  Rig rig("h200x4", window_settings());
  const std::vector<std::string> gpus{"gpu0", "gpu3", "gpu1"};
  for (std::size_t i = 0; i < 9; ++i) {
    const std::string& gpu = gpus[i % gpus.size()];
    const StreamHandle stream = rig.stream(gpus[(i + 1) % gpus.size()]);
    Buffer& middle = rig.buffer(gpu, 300001);

    rig.copy(middle, rig.pageable_buffer(300001), stream);
    rig.copy(rig.pageable_buffer(300001), middle, stream);
  }

  EXPECT_TRUE(rig.intact());
  EXPECT_EQ(rig.statistics().pageable, 18U);
  EXPECT_THAT(rig.close(), IsEmpty());
}

TEST(PageableOrder, AnEngineMayGoWhileACopyIsUnderWay) {
  Rig rig("beluga", window_settings());
  Buffer& destination = rig.buffer("gpu0", kMiB);
  rig.copy(destination, rig.pageable_buffer(kMiB), rig.stream("gpu0"));

  rig.destroy_engines();

  EXPECT_TRUE(rig.intact());
  EXPECT_THAT(rig.close(), IsEmpty());
}

TEST(PageableOrder, ThreadsCopyAtOnce) {
  Rig rig("h200x4", window_settings());
  rig.add_engine();
  struct Own {
    StreamHandle stream;
    Buffer* host;
    Buffer* gpu;
    Buffer* back;
  };
  std::vector<Own> owns;
  for (int t = 0; t < 4; ++t) {
    const std::string gpu = "gpu" + std::to_string(t);
    owns.push_back({rig.stream(gpu), &rig.pageable_buffer(500001), &rig.buffer(gpu, 500001),
                    &rig.pageable_buffer(500001)});
  }

  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < owns.size(); ++t)
    threads.emplace_back([&rig, &own = owns[t], t] {
      for (std::size_t round = 0; round < (kSanitized ? 3 : 10); ++round) {
        rig.copy(*own.gpu, round, *own.host, 0, 500001 - round, own.stream, {}, t % 2);
        rig.copy(*own.back, 0, *own.gpu, 0, 500001, own.stream, {}, (t + round) % 2);
        EXPECT_TRUE(Rig::intact(*own.back));
      }
    });
  for (std::thread& thread : threads) thread.join();

  EXPECT_TRUE(rig.intact());
  EXPECT_THAT(rig.close(), IsEmpty());
}

// --- the windows ---

TEST(PinnedWindows, AreBoundedWhateverTheMessage) {
  Rig rig("h200x4", window_settings());
  const StreamHandle stream = rig.stream("gpu0");
  std::vector<std::string> before;
  for (const std::size_t size : {kMiB, 5 * kMiB}) {
    Buffer& gpu = rig.buffer("gpu0", size);
    rig.copy(gpu, rig.pageable_buffer(size), stream, forced({"direct"}, Executor::stream));
    rig.synchronize();
    rig.free(gpu);

    EXPECT_THAT(rig.driver().leaks(),
                testing::Contains(std::to_string(3 * kWindow) + " bytes at host0"));
    EXPECT_EQ(rig.driver().uses(sim::Call::allocate), size == kMiB ? 2 : 3);
  }
}

}  // namespace
}  // namespace polypath::test::pageable_test
