// The cache of executable graphs: what is kept, changed, made and dropped, and that the bytes are
// right whichever it was.

#include <gmock/gmock.h>

#include <cmath>

#include "engine/decide/graph_amortizer.h"
#include "machine/load_machine.h"
#include "support/rig.h"

namespace polypath::test::graph_cache_test {
namespace {

using testing::IsEmpty;

constexpr std::size_t kSize = 200 << 10;

class GraphCache : public testing::Test {
 protected:
  static Settings settings() {
    Settings settings = small_settings();
    settings.graph_cache = 2;
    return settings;
  }
  CopyResult copy(Buffer& destination, const Buffer& source, std::size_t bytes = kSize) {
    return rig_.copy(destination, 0, source, 0, bytes, stream_, options_);
  }
  void expect_counted(std::uint64_t instantiations, std::uint64_t hits, std::uint64_t updates,
                      std::uint64_t evictions) {
    const Statistics counted = rig_.statistics();
    EXPECT_EQ(counted.graph_instantiations, instantiations);
    EXPECT_EQ(counted.graph_hits, hits);
    EXPECT_EQ(counted.graph_updates, updates);
    EXPECT_EQ(counted.graph_evictions, evictions);
    EXPECT_EQ(counted.fallbacks, 0U);
  }
  // New contents, so that bytes left by an earlier copy do not pass for those of a later one.
  void refill(Buffer& buffer, std::uint64_t seed) {
    rig_.synchronize();
    buffer.expected = pattern(buffer.expected.size(), seed);
    std::copy(buffer.expected.begin(), buffer.expected.end(),
              reinterpret_cast<unsigned char*>(buffer.address.value));
  }

  Rig rig_{"beluga", settings()};
  Buffer& source_ = rig_.buffer("gpu0", kSize);
  Buffer& destination_ = rig_.buffer("gpu1", kSize);
  StreamHandle stream_ = rig_.stream("gpu0");
  PlanOptions options_ = forced({"direct", "gpu2", "host"}, Executor::graph);
};

TEST_F(GraphCache, TheSameTransferAgainLaunchesTheGraphAsItIs) {
  copy(destination_, source_);
  refill(source_, 100);
  copy(destination_, source_);

  EXPECT_TRUE(rig_.intact());
  expect_counted(1, 1, 0, 0);
}

TEST_F(GraphCache, OtherAddressesUpdateTheGraphInPlace) {
  Buffer& other_source = rig_.buffer("gpu0", kSize);
  Buffer& other_destination = rig_.buffer("gpu1", kSize);

  copy(destination_, source_);
  copy(other_destination, source_);
  copy(other_destination, other_source);
  copy(destination_, other_source);

  EXPECT_TRUE(rig_.intact());
  expect_counted(1, 0, 3, 0);
  EXPECT_THAT(rig_.close(), IsEmpty());
}

TEST_F(GraphCache, AnUpdateDoesNotChangeALaunchStillRunning) {
  Buffer& other = rig_.buffer("gpu1", kSize);

  copy(destination_, source_);
  copy(other, source_);

  EXPECT_TRUE(rig_.intact());
  EXPECT_THAT(rig_.close(), IsEmpty());
}

TEST_F(GraphCache, OneGraphServesSeveralStreams) {
  Buffer& other_source = rig_.buffer("gpu0", kSize);
  Buffer& other_destination = rig_.buffer("gpu1", kSize);
  const StreamHandle other_stream = rig_.stream("gpu2");

  for (int i = 0; i < 4; ++i) {
    copy(destination_, source_);
    rig_.copy(other_destination, other_source, other_stream, options_);
  }

  EXPECT_TRUE(rig_.intact());
  expect_counted(1, 0, 7, 0);
  EXPECT_THAT(rig_.close(), IsEmpty());
}

TEST_F(GraphCache, TheLeastRecentlyUsedGraphGoesEvenWhileItRuns) {
  copy(destination_, source_, kSize);
  copy(destination_, source_, kSize / 2);
  copy(destination_, source_, kSize);      // keeps the first
  copy(destination_, source_, kSize / 4);  // drops the second
  copy(destination_, source_, kSize);
  copy(destination_, source_, kSize / 2);  // drops the third

  EXPECT_TRUE(rig_.intact());
  expect_counted(4, 2, 0, 2);
  EXPECT_EQ(rig_.driver().uses(sim::Call::destroy_graph), 2);
  EXPECT_THAT(rig_.close(), IsEmpty());
}

TEST_F(GraphCache, ReallocatedBuffersGetTheirOwnBytes) {
  copy(destination_, source_);
  rig_.synchronize();
  rig_.free(source_);
  rig_.free(destination_);

  for (int round = 0; round < 6; ++round) {
    Buffer& source = rig_.buffer("gpu0", kSize);
    Buffer& destination = rig_.buffer("gpu1", kSize);
    copy(destination, source);
    EXPECT_TRUE(rig_.intact());
    rig_.free(source);
    rig_.free(destination);
  }

  EXPECT_EQ(rig_.statistics().graph_instantiations, 1U);
  EXPECT_THAT(rig_.close(), IsEmpty());
}

// Nothing is launched for memory that is gone: neither the old buffers nor what took their place.
TEST_F(GraphCache, FreedMemoryIsNeverWrittenAgain) {
  copy(destination_, source_);
  rig_.synchronize();
  rig_.free(destination_);
  Buffer& in_its_place = rig_.buffer("gpu1", kSize);
  Buffer& destination = rig_.buffer("gpu1", kSize);

  copy(destination, source_);

  EXPECT_TRUE(rig_.intact());
  EXPECT_TRUE(Rig::intact(in_its_place));
  EXPECT_THAT(rig_.close(), IsEmpty());
}

TEST_F(GraphCache, OffsetsWithinABufferAreOtherAddresses) {
  Buffer& large = rig_.buffer("gpu1", 2 * kSize);

  for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, kSize, std::size_t{1}})
    rig_.copy(large, offset, source_, 0, kSize, stream_, options_);

  EXPECT_TRUE(rig_.intact());
  expect_counted(1, 0, 3, 0);
}

TEST_F(GraphCache, BothExecutorsTakeTurnsOnTheSameStagingMemory) {
  PlanOptions streams = options_;
  streams.executor = Executor::stream;
  const StreamHandle other = rig_.stream("gpu1");

  for (int i = 0; i < 12; ++i)
    rig_.copy(rig_.buffer("gpu1", kSize), source_, i % 3 == 0 ? other : stream_,
              i % 2 == 0 ? options_ : streams);

  EXPECT_TRUE(rig_.intact());
  EXPECT_EQ(rig_.statistics().graphs, 6U);
  EXPECT_EQ(rig_.statistics().streams, 6U);
  EXPECT_THAT(rig_.close(), IsEmpty());
}

// Where graphs cost little and streams much, a plan becomes one once it has been used often enough
// to be worth it.
TEST(AutomaticGraph, ComesAfterTheSetNumberOfUses) {
  Machine machine = load_machine("beluga");
  machine.costs.graph_launch = Seconds{1e-7};
  machine.costs.graph_launch_node = Seconds{1e-8};
  machine.costs.copy = 20_us;
  Settings settings;
  settings.graph_after = 3;
  Rig rig(machine, settings);
  Buffer& source = rig.buffer("gpu0", 8 << 20);
  Buffer& destination = rig.buffer("gpu1", 8 << 20);
  const StreamHandle stream = rig.stream("gpu0");
  std::vector<Executor> used;

  for (int i = 0; i < 5; ++i) used.push_back(rig.copy(destination, source, stream).executor);

  EXPECT_THAT(used, testing::ElementsAre(Executor::stream, Executor::stream, Executor::stream,
                                         Executor::graph, Executor::graph));
  EXPECT_TRUE(rig.intact());
}

// C is what the graph costs, Δ what a transfer gains by it: it is made with use ⌈C/Δ⌉ + 1. Until
// then transfers go as the best plan does that needs no graph.
TEST(AutomaticGraph, ComesWhenItWouldHavePaid) {
  Machine machine = load_machine("beluga");
  machine.costs.graph_launch = Seconds{1e-7};
  machine.costs.graph_launch_node = Seconds{1e-8};
  machine.costs.graph_instantiate_node = 88_us;
  machine.costs.copy = 20_us;
  Settings settings;
  settings.learn = false;
  Rig rig(machine, settings);
  Buffer& source = rig.buffer("gpu0", 8 << 20);
  Buffer& destination = rig.buffer("gpu1", 8 << 20);
  const StreamHandle stream = rig.stream("gpu0");
  PlanOptions streams;
  streams.executor = Executor::stream;
  const PlaceId from = machine.find_place("gpu0"), to = machine.find_place("gpu1");
  const PlanPointer graph = rig.engine().plan(from, to, 8_MiB);
  const PlanPointer without = rig.engine().plan(from, to, 8_MiB, streams);
  ASSERT_EQ(graph->executor(), Executor::graph);
  const double uses =
      std::ceil(cost_of_graph(machine.costs, *graph) / (without->predicted - graph->predicted));

  for (int use = 0; use < static_cast<int>(uses); ++use) {
    const CopyResult result = rig.copy(destination, source, stream);
    EXPECT_EQ(result.executor, Executor::stream);
    EXPECT_EQ(result.plan->structure, without->structure);
  }
  const CopyResult result = rig.copy(destination, source, stream);

  EXPECT_GE(uses, 2);
  EXPECT_EQ(result.executor, Executor::graph);
  EXPECT_TRUE(rig.intact());
}

// A graph belongs to the streams of one lane: another stream would have to make its own.
TEST(AutomaticGraph, IsCountedForEachStream) {
  Machine machine = load_machine("beluga");
  machine.costs.graph_launch = Seconds{1e-7};
  machine.costs.graph_launch_node = Seconds{1e-8};
  machine.costs.copy = 20_us;
  Settings settings;
  settings.graph_after = 1;
  Rig rig(machine, settings);
  Buffer& source = rig.buffer("gpu0", 8 << 20);
  Buffer& destination = rig.buffer("gpu1", 8 << 20);
  const StreamHandle first = rig.stream("gpu0"), second = rig.stream("gpu0");

  EXPECT_EQ(rig.copy(destination, source, first).executor, Executor::stream);
  EXPECT_EQ(rig.copy(destination, source, first).executor, Executor::graph);
  EXPECT_EQ(rig.copy(destination, source, second).executor, Executor::stream);
}

}  // namespace
}  // namespace polypath::test::graph_cache_test
