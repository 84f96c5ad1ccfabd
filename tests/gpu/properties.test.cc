// Random copies by several threads on real GPUs: random places, sizes, offsets, executors. The same
// copies in ordinary memory say what every byte must be.

#include <algorithm>
#include <mutex>
#include <thread>

#include "gpu/gpu_rig.h"
#include "support/layers.h"

namespace polypath::test::properties_test {
namespace {

constexpr std::size_t kMost = (32U << 20) + 4096;

class GpuProperties : public GpuTest {
 protected:
  // A thread's work: copies back and forth between buffers of its own, on a stream of its own.
  void work(Engine& engine, std::uint64_t seed, std::vector<std::size_t> mine, int copies) {
    Random random(seed);
    const PlaceId gpu = random.pick(machine().places_of(PlaceKind::gpu));
    StreamHandle own;
    {
      const std::scoped_lock lock(mutex_);
      own = stream(gpu);
    }
    for (int i = 0; i < copies; ++i) copy(engine, random, mine, own, gpu);
    driver().synchronize(own);
  }

  void copy(Engine& engine, Random& random, const std::vector<std::size_t>& mine,
            StreamHandle stream, PlaceId gpu) {
    const std::size_t which = random.index(mine.size());
    const std::size_t other = (which + 1 + random.index(mine.size() - 1)) % mine.size();
    const GpuBuffer& source = buffers_[mine[which]];
    GpuBuffer& destination = buffers_[mine[other]];
    std::size_t bytes = std::size_t{1} << random.integer(0, 25);
    bytes = std::min(kMost - 64, bytes + random.index(4096));
    const std::size_t from = random.index(kMost - bytes + 1);
    const std::size_t to = random.index(kMost - bytes + 1);
    CopyCall call{destination.address + Bytes{to},
                  source.address + Bytes{from},
                  Bytes{bytes},
                  stream,
                  gpu,
                  options_for(random, source, destination)};
    engine.copy(call);
    std::copy_n(source.expected.begin() + static_cast<std::ptrdiff_t>(from), bytes,
                destination.expected.begin() + static_cast<std::ptrdiff_t>(to));
  }

  PlanOptions options_for(Random& random, const GpuBuffer& source, const GpuBuffer& destination) {
    PlanOptions options;
    const std::vector<std::optional<Executor>> choices{std::nullopt, Executor::stream,
                                                       Executor::graph};
    options.executor = random.pick(choices);
    if (source.place == destination.place || source.pageable || destination.pageable) return {};
    const auto paths = find_paths(machine(), source.place, destination.place);
    if (!random.chance(50) || paths.size() < 2) return options;
    options.shares["direct"] = 0.5;
    options.shares[name_of(machine(), paths[1 + random.index(paths.size() - 1)])] = 0.5;
    return options;
  }

  std::mutex mutex_;
};

TEST_F(GpuProperties, EveryByteIsRight) {
  constexpr int kThreads = 4, kBuffers = 5, kCopies = 150;
  Settings settings;
  settings.min_message = 4096_B;
  Engine engine(driver(), machine(), settings);
  Random random(20261121);
  std::vector<std::vector<std::size_t>> of_thread(kThreads);
  for (auto& mine : of_thread)
    for (int b = 0; b < kBuffers; ++b) {
      const bool pageable = b == 0;
      const PlaceId place =
          pageable ? machine().places_of(PlaceKind::host).front()
                   : PlaceId{random.integer(0, static_cast<int>(machine().places.size()) - 1)};
      mine.push_back(buffer(place, kMost, random.next(), pageable));
    }

  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] { work(engine, 1000 + t, of_thread[t], kCopies); });
  for (std::thread& thread : threads) thread.join();

  EXPECT_TRUE(intact());
  const Statistics counted = engine.statistics();
  EXPECT_GT(counted.streams + counted.graphs, 50U);
  EXPECT_EQ(counted.errors + counted.fallbacks, 0U);
}

// What is enqueued before a copy is seen by it, and what comes after sees the copy.
TEST_F(GpuProperties, StreamOrderHoldsOnBothSides) {
  const auto gpus = machine().places_of(PlaceKind::gpu);
  constexpr std::size_t kBytes = 32U << 20;
  Engine engine(driver(), machine(), {});
  const StreamHandle own = stream(gpus[0]);
  const std::size_t first = buffer(gpus[0], kBytes, 1), middle = buffer(gpus[0], kBytes, 2);
  const std::size_t peer = buffer(gpus[1], kBytes, 3), last = buffer(gpus[1], kBytes, 4);
  PlanOptions options;
  options.executor = Executor::stream;
  options.shares = {{"direct", 0.5}, {"host0", 0.5}};

  for (int round = 0; round < 5; ++round) {
    options.executor = round % 2 == 0 ? Executor::stream : Executor::graph;
    const auto at = [&](std::size_t i) { return buffers_[i].address; };
    driver().copy_native({at(middle), at(first), Bytes{kBytes}, {}}, own);
    engine.copy({at(peer), at(middle), Bytes{kBytes}, own, gpus[0], options});
    driver().copy_native({at(last), at(peer), Bytes{kBytes}, {}}, own);
    driver().synchronize(own);
    buffers_[middle].expected = buffers_[peer].expected = buffers_[last].expected =
        buffers_[first].expected;

    ASSERT_TRUE(intact()) << "round " << round;
    buffers_[first].expected = pattern(kBytes, 100 + static_cast<std::uint64_t>(round));
    write(at(first), buffers_[first].expected);
  }
}

// What it gives back is not looked at here: only that its end loses no byte still on its way.
TEST_F(GpuProperties, AnEngineMayEndWhileItsCopyRuns) {
  const auto gpus = machine().places_of(PlaceKind::gpu);
  constexpr std::size_t kBytes = 64U << 20;
  const std::size_t a = buffer(gpus[0], kBytes, 1), b = buffer(gpus[1], kBytes, 2);
  const StreamHandle own = stream(gpus[0]);

  for (int round = 0; round < 20; ++round) {
    Engine engine(driver(), machine(), {});
    PlanOptions options;
    options.shares = {{"direct", 0.5}, {"host0", 0.5}};
    engine.copy({buffers_[b].address, buffers_[a].address, Bytes{kBytes}, own, gpus[0], options});
  }
  driver().synchronize(own);

  buffers_[b].expected = buffers_[a].expected;
  EXPECT_TRUE(intact());
}

}  // namespace
}  // namespace polypath::test::properties_test
