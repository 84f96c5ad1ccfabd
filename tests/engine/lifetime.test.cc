// What engines hold and when they give it back; several engines, streams and threads at once.

#include <gmock/gmock.h>

#include <thread>

#include "support/random.h"
#include "support/rig.h"
#include "support/sanitizers.h"

namespace polypath::test::lifetime_test {
namespace {

using testing::IsEmpty;

constexpr std::size_t kSize = 300 << 10;
const std::vector<std::string> kPaths{"direct", "gpu2", "gpu3", "host"};

class Lifetime : public testing::TestWithParam<std::optional<Executor>> {
 protected:
  PlanOptions options_ = forced(kPaths, GetParam());
};

std::string executor_name(const testing::TestParamInfo<std::optional<Executor>>& info) {
  return info.param == Executor::graph ? "graph" : "stream";
}

INSTANTIATE_TEST_SUITE_P(Executors, Lifetime, testing::Values(Executor::stream, Executor::graph),
                         executor_name);

TEST_P(Lifetime, AnEngineDestroyedWhileWorkIsQueuedFinishesIt) {
  Rig rig("beluga", small_settings());
  const std::vector<StreamHandle> streams{rig.stream("gpu0"), rig.stream("gpu1")};
  for (int i = 0; i < 4; ++i)
    rig.copy(rig.buffer("gpu1", kSize), rig.buffer("gpu0", kSize),
             streams[static_cast<std::size_t>(i % 2)], options_);

  rig.destroy_engines();

  EXPECT_TRUE(rig.intact());
  EXPECT_THAT(rig.close(), IsEmpty());
}

TEST_P(Lifetime, AnEngineThatDidNothingHoldsNothing) {
  Rig rig("beluga", small_settings());

  EXPECT_THAT(rig.driver().leaks(), IsEmpty());
  EXPECT_THAT(rig.close(), IsEmpty());
}

TEST_P(Lifetime, TheStreamMayGoWhileTheEngineLives) {
  Rig rig("beluga", small_settings());
  Buffer& source = rig.buffer("gpu0", kSize);
  Buffer& destination = rig.buffer("gpu1", kSize);
  const StreamHandle lasting = rig.stream("gpu0");

  for (int round = 0; round < 5; ++round) {
    const StreamHandle passing = rig.driver().create_stream({0});
    CopyCall call = rig.call(destination, 0, source, 0, kSize, lasting, options_);
    call.stream = passing;
    rig.engine().copy(call);
    rig.driver().synchronize(passing);
    rig.driver().destroy_stream(passing);
  }
  destination.expected = source.expected;

  EXPECT_TRUE(rig.intact());
  EXPECT_THAT(rig.close(), IsEmpty());
}

TEST_P(Lifetime, SeveralEnginesShareOneDriverAndOneStream) {
  Rig rig("beluga", small_settings());
  rig.add_engine();
  rig.add_engine();
  Buffer& a = rig.buffer("gpu0", kSize);
  Buffer& b = rig.buffer("gpu1", kSize);
  const StreamHandle stream = rig.stream("gpu0");

  for (std::size_t i = 0; i < 9; ++i) {
    Buffer& source = i % 2 == 0 ? a : b;
    Buffer& destination = i % 2 == 0 ? b : a;
    rig.copy(destination, 0, source, 1, kSize - 1, stream, options_, i % 3);
  }

  EXPECT_TRUE(rig.intact());
  EXPECT_THAT(rig.close(), IsEmpty());
}

// Every thread copies between its own buffers over its own streams through engines that all share,
// and checks its bytes while the others go on.
class Threads {
 public:
  explicit Threads(std::optional<Executor> executor) : options_(forced(kPaths, executor)) {
    rig_.add_engine();
    for (std::size_t t = 0; t < kThreads; ++t) {
      Own& own = owns_.emplace_back();
      for (int s = 0; s < 2; ++s) {
        own.streams.push_back(
            rig_.stream("gpu" + std::to_string((t + static_cast<std::size_t>(s)) % 4)));
        own.sources.push_back(&rig_.buffer("gpu0", kSize));
        own.destinations.push_back(&rig_.buffer("gpu1", kSize));
      }
    }
  }

  void run() {
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) threads.emplace_back([this, t] { work(t); });
    for (std::thread& thread : threads) thread.join();
    for (const Own& own : owns_) EXPECT_EQ(own.wrong, 0);
    EXPECT_TRUE(rig_.intact());
    const std::uint64_t done = rig_.statistics(0).transfers + rig_.statistics(1).transfers;
    EXPECT_EQ(done, kThreads * static_cast<std::uint64_t>(kRounds) * 2 * 3);
    EXPECT_THAT(rig_.close(), IsEmpty());
  }

 private:
  struct Own {
    std::vector<StreamHandle> streams;
    std::vector<Buffer*> sources;
    std::vector<Buffer*> destinations;
    int wrong = 0;
  };
  static constexpr std::size_t kThreads = 6;
  static constexpr int kRounds = kSanitized ? 4 : 20;

  void work(std::size_t thread) {
    Own& own = owns_[thread];
    Random random(thread);
    for (int round = 0; round < kRounds; ++round) {
      for (int copy = 0; copy < 3; ++copy)
        for (std::size_t s = 0; s < own.streams.size(); ++s)
          rig_.copy(*own.destinations[s], random.index(100), *own.sources[s], random.index(100),
                    kSize - 100 - random.index(1000), own.streams[s], options_, random.index(2));
      for (std::size_t s = 0; s < own.streams.size(); ++s) {
        rig_.driver().synchronize(own.streams[s]);
        own.wrong += Rig::intact(*own.destinations[s]) ? 0 : 1;
      }
    }
  }

  Rig rig_{"beluga", small_settings()};
  PlanOptions options_;
  std::vector<Own> owns_;
};

TEST_P(Lifetime, ThreadsShareEnginesAndStagingMemory) { Threads(GetParam()).run(); }

TEST_P(Lifetime, StatisticsAndPlansMayBeAskedForWhileOthersCopy) {
  Rig rig("beluga", small_settings());
  Buffer& source = rig.buffer("gpu0", kSize);
  Buffer& destination = rig.buffer("gpu1", kSize);
  const StreamHandle stream = rig.stream("gpu0");

  std::thread asking([&] {
    for (int i = 0; i < 50; ++i) {
      (void)rig.statistics();
      (void)rig.engine().plan({0}, {1}, Bytes{kSize});
      (void)rig.driver().now();
    }
  });
  for (int i = 0; i < 50; ++i) rig.copy(destination, source, stream, options_);
  asking.join();

  EXPECT_TRUE(rig.intact());
  EXPECT_EQ(rig.statistics().transfers, 50U);
}

}  // namespace
}  // namespace polypath::test::lifetime_test
