// Several copies that are asked for together: they are planned together, keep the order of their
// streams, and are right whatever else is among them.

#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "core/error.h"
#include "support/rig.h"

namespace polypath::test::copy_many_test {
namespace {

using testing::Each;
using testing::Field;
using testing::IsEmpty;

constexpr std::size_t kSize = (24 << 20) + 3;

class ManyCopies : public testing::Test {
 protected:
  explicit ManyCopies(const Settings& settings = {}) : rig_("beluga", settings) {}

  struct Planned {
    Buffer* destination;
    Buffer* source;
    std::size_t bytes;
  };

  /// Adds a copy between new buffers.
  void add(const std::string& from, const std::string& to, StreamHandle stream,
           std::size_t bytes = kSize, const PlanOptions& options = {}) {
    add(rig_.buffer(to, bytes + 1), rig_.buffer(from, bytes + 1), bytes, stream, options);
  }
  void add(Buffer& destination, Buffer& source, std::size_t bytes, StreamHandle stream,
           const PlanOptions& options = {}) {
    copies_.push_back({&destination, &source, bytes});
    calls_.push_back(rig_.call(destination, 0, source, 0, bytes, stream, options));
  }
  void add_ring(bool one_stream) {
    const StreamHandle first = rig_.stream("gpu0");
    for (int gpu = 0; gpu < 4; ++gpu) {
      const std::string from = "gpu" + std::to_string(gpu);
      add(from, "gpu" + std::to_string((gpu + 1) % 4),
          one_stream || gpu == 0 ? first : rig_.stream(from));
    }
  }
  /// Makes them all; what they do one after another is expected.
  std::vector<CopyResult> copy() {
    std::vector<CopyResult> results = rig_.engine().copy_many(calls_);
    for (const Planned& planned : copies_)
      std::copy_n(planned.source->expected.begin(), planned.bytes,
                  planned.destination->expected.begin());
    return results;
  }
  void expect_right() {
    EXPECT_TRUE(rig_.intact());
    EXPECT_THAT(rig_.close(), IsEmpty());
  }

  Rig rig_;
  std::vector<Planned> copies_;
  std::vector<CopyCall> calls_;
};

const auto by_paths = Field(&CopyResult::means, Method::paths);

class ARingOfCopies : public ManyCopies, public testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(OnStreams, ARingOfCopies, testing::Bool(),
                         [](const auto& info) { return info.param ? "one" : "each_its_own"; });

TEST_P(ARingOfCopies, BringsEveryByteOverSeveralPaths) {
  add_ring(GetParam());

  for (int round = 0; round < 5; ++round) EXPECT_THAT(copy(), Each(by_paths));

  EXPECT_EQ(rig_.statistics().transfers, 20U);
  EXPECT_GT(rig_.statistics().graphs + rig_.statistics().streams, 0U);
  EXPECT_EQ(rig_.statistics().fallbacks, 0U);
  expect_right();
}

// What comes next in the stream reads what the set wrote, what was before wrote what it reads.
TEST_P(ARingOfCopies, KeepsTheOrderOfItsStreams) {
  add_ring(GetParam());
  for (std::size_t k = 0; k < copies_.size(); ++k) {
    const std::string& place = rig_.machine().place(copies_[k].source->place).name;
    Buffer& before = rig_.buffer(place, kSize);
    rig_.copy(*copies_[k].source, 0, before, 0, kSize, calls_[k].stream);
  }

  copy();

  for (std::size_t k = 0; k < copies_.size(); ++k) {
    Buffer& after = rig_.buffer(rig_.machine().place(copies_[k].destination->place).name, kSize);
    rig_.copy(after, 0, *copies_[k].destination, 0, kSize, calls_[k].stream);
    rig_.copy(*copies_[k].destination, 0, *copies_[k].source, 1, kSize, calls_[k].stream);
  }
  expect_right();
}

TEST_F(ManyCopies, OfOneStreamRunBesideEachOther) {
  add_ring(true);
  PlanOptions native;
  native.executor = Executor::native;
  for (int round = 0; round < 4; ++round) copy();
  rig_.synchronize();
  const Seconds start = rig_.driver().now();

  copy();

  rig_.synchronize();
  const Seconds together = rig_.driver().now() - start;
  for (std::size_t k = 0; k < calls_.size(); ++k)
    rig_.copy(*copies_[k].destination, 0, *copies_[k].source, 0, kSize, calls_[k].stream, native);
  rig_.synchronize();
  const Seconds one_by_one = rig_.driver().now() - start - together;
  EXPECT_GT(one_by_one / together, 2);
  expect_right();
}

TEST_F(ManyCopies, ThatDependOnEachOtherRunInOrder) {
  const StreamHandle stream = rig_.stream("gpu0");
  Buffer& first = rig_.buffer("gpu0", kSize);
  Buffer& second = rig_.buffer("gpu1", kSize);
  Buffer& third = rig_.buffer("gpu2", kSize);
  add(second, first, kSize, stream);
  add(third, second, kSize, stream);
  add(first, third, kSize, stream);

  for (int round = 0; round < 3; ++round) copy();

  expect_right();
}

TEST_F(ManyCopies, OfAllKindsAreRight) {
  const StreamHandle stream = rig_.stream("gpu0");
  const StreamHandle other = rig_.stream("gpu1");
  PlanOptions native;
  native.executor = Executor::native;
  add("gpu0", "gpu1", stream);
  add("gpu0", "gpu2", stream, 100);
  add("gpu0", "gpu3", stream, 0);
  add("gpu0", "gpu2", stream, kSize, native);
  add("gpu0", "gpu0", stream);
  add("gpu0", "gpu2", stream);
  add("gpu0", "gpu2", stream);
  add("gpu1", "gpu0", other, kSize, forced({"direct", "gpu2"}, Executor::stream));
  add("gpu1", "host", other);
  add(rig_.buffer("gpu1", kSize), rig_.pageable_buffer(kSize), kSize, other);
  add("gpu1", "gpu3", other);

  const std::vector<CopyResult> results = copy();

  EXPECT_NE(results[0].plan, nullptr);
  EXPECT_EQ(results[1].means, Method::native);
  EXPECT_EQ(results[2].means, Method::nothing);
  EXPECT_EQ(results[3].executor, Executor::native);
  EXPECT_NE(results[5].plan, nullptr);
  EXPECT_EQ(results[5].plan, results[6].plan);
  EXPECT_EQ(results[7].executor, Executor::stream);
  EXPECT_EQ(rig_.statistics().transfers, 10U);
  expect_right();
}

TEST_F(ManyCopies, MayBeNone) {
  EXPECT_THAT(copy(), IsEmpty());

  EXPECT_EQ(rig_.statistics().transfers, 0U);
}

TEST_F(ManyCopies, ThatGoNativelyTogetherAreNotRememberedAsNativeByThemselves) {
  add("gpu0", "gpu1", rig_.stream("gpu0"));
  add("gpu0", "gpu1", rig_.stream("gpu0"));
  add("gpu2", "gpu1", rig_.stream("gpu2"));
  add("gpu3", "gpu1", rig_.stream("gpu3"));
  for (int round = 0; round < 3; ++round) copy();
  rig_.synchronize();

  const CopyResult alone = rig_.engine().copy(calls_[0]);

  EXPECT_EQ(alone.means, Method::paths);
}

TEST_F(ManyCopies, WithMoreWaysThanLanesAreMadeOneByOne) {
  for (const char* from : {"gpu0", "gpu1", "gpu2", "gpu3"})
    for (const char* to : {"gpu0", "gpu1", "gpu2", "gpu3"})
      if (from != std::string(to)) add(from, to, rig_.stream(from));

  for (int round = 0; round < 2; ++round) copy();

  expect_right();
}

TEST_F(ManyCopies, LeaveOutWhatTheEngineLeavesOut) {
  rig_.engine().leave_out(rig_.machine().find_place("gpu2"), LeftOutBecause::preparation_failed);
  rig_.engine().leave_out(rig_.machine().find_place("gpu3"), LeftOutBecause::preparation_failed);
  add("gpu0", "gpu1", rig_.stream("gpu0"));
  add("gpu1", "gpu0", rig_.stream("gpu1"));

  for (const CopyResult& result : copy())
    for (const PathShape& part : result.plan->shape.paths)
      EXPECT_FALSE(part.path.staged() &&
                   rig_.machine().place(staging_place(rig_.machine(), part.path)).kind ==
                       PlaceKind::gpu);

  expect_right();
}

// --- plans made in the background ---

Settings in_background() {
  Settings settings;
  settings.prepare = "background";
  settings.prepare_after = 0;
  return settings;
}

class CopiesPlannedInTheBackground : public ManyCopies {
 protected:
  CopiesPlannedInTheBackground() : ManyCopies(in_background()) {}
};

TEST_F(CopiesPlannedInTheBackground, GoNativelyUntilThereIsAPlan) {
  add_ring(true);

  const std::vector<CopyResult> first = copy();
  int rounds = 0;
  for (std::vector<CopyResult> results = first; rounds < 500; ++rounds) {
    if (std::all_of(results.begin(), results.end(),
                    [](const CopyResult& result) { return result.means == Method::paths; }))
      break;
    rig_.synchronize();
    // The background gets a CPU, also where every CPU is busy with other tests.
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min(rounds * rounds, 300)));
    results = copy();
  }

  for (const CopyResult& result : first) EXPECT_EQ(result.obstacle, FallbackReason::preparing);
  EXPECT_LT(rounds, 500);
  EXPECT_EQ(rig_.statistics().fallbacks, 0U);
  expect_right();
}

// --- wrong arguments ---

class WrongCalls : public ManyCopies {
 protected:
  void expect_nothing_enqueued() {
    const int before = rig_.driver().uses(sim::Call::copy);
    try {
      (void)rig_.engine().copy_many(calls_);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
    }
    EXPECT_EQ(rig_.driver().uses(sim::Call::copy), before);
    EXPECT_EQ(rig_.statistics().transfers, 0U);
    expect_right();
  }
};

TEST_F(WrongCalls, WithANullAddressEnqueueNothing) {
  add_ring(false);
  calls_.back().source = {};
  expect_nothing_enqueued();
}

TEST_F(WrongCalls, BeyondTheirMemoryEnqueueNothing) {
  add_ring(true);
  calls_[2].bytes += 2_B;
  expect_nothing_enqueued();
}

TEST_F(WrongCalls, OverlappingThemselvesEnqueueNothing) {
  add_ring(true);
  Buffer& buffer = rig_.buffer("gpu0", kSize);
  calls_.push_back(rig_.call(buffer, 0, buffer, 1, kSize - 1, calls_[0].stream));
  expect_nothing_enqueued();
}

TEST_F(WrongCalls, WithOptionsOfNoUseEnqueueNothing) {
  add_ring(false);
  calls_.back().options = forced({"direct", "gpu77"}, std::nullopt);
  expect_nothing_enqueued();
}

}  // namespace
}  // namespace polypath::test::copy_many_test
