// Every driver call of a set of copies fails once, and from there on for good: the set either
// reports an error or is right, what follows is right, and nothing is leaked.

#include <gmock/gmock.h>

#include <algorithm>
#include <deque>

#include "core/error.h"
#include "engine/faults.h"
#include "support/layers.h"

namespace polypath::test::copy_many_faults_test {
namespace {

using sim::Call;
using testing::IsEmpty;

constexpr std::size_t kSize = std::size_t{8} << 20;

struct KindOfSet {
  const char* name;
  Executor executor;
  const char* machine;
  std::vector<std::pair<const char*, const char*>> ways;
  std::size_t bytes;
  bool kernels = false;  ///< else by copies
};

// From one GPU to two others on one stream: a branch and its join, two lanes. And blocks of a cache
// that go as one stream of bytes, by copies and by kernels.
const KindOfSet kStreams{
    "stream", Executor::stream, "beluga", {{"gpu0", "gpu1"}, {"gpu0", "gpu2"}}, kSize};
const KindOfSet kGraphs{
    "graph", Executor::graph, "beluga", {{"gpu0", "gpu1"}, {"gpu0", "gpu2"}}, kSize};
// The long one is asked for first, and issued last.
const KindOfSet kAnotherOrder{"another_order",
                              Executor::stream,
                              "beluga",
                              {{"gpu0", "host"}, {"gpu0", "gpu1"}, {"gpu0", "gpu2"}},
                              kSize};
const KindOfSet kPieces{
    "pieces", Executor::stream, "h200x4", {24, std::pair{"host", "gpu0"}}, std::size_t{1} << 20};
const KindOfSet kKernels{
    "kernels", Executor::stream, "h200x4", {14, std::pair{"host", "gpu0"}}, std::size_t{256} << 10,
    true};

Settings settings_for(const KindOfSet& kind) {
  Settings settings;
  settings.piece_kernels = kind.kernels;
  return settings;
}

class SetWithFaults : public testing::TestWithParam<KindOfSet> {
 protected:
  SetWithFaults() {
    PlanOptions options;
    options.executor = GetParam().executor;
    for (const auto [from, to] : GetParam().ways) {
      sources_.push_back(&rig_.buffer(from, bytes_));
      destinations_.push_back(&rig_.buffer(to, bytes_));
      calls_.push_back(
          rig_.call(*destinations_.back(), 0, *sources_.back(), 0, bytes_, stream_, options));
    }
    baseline_ = rig_.driver().leaks();
  }

  /// Makes the next set, of other sources than the one before; false if it reported an error.
  bool copy() {
    std::rotate(sources_.begin(), sources_.begin() + 1, sources_.end());
    for (std::size_t k = 0; k < calls_.size(); ++k) calls_[k].source = sources_[k]->address;
    try {
      last_ = rig_.engine().copy_many(calls_);
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::driver || error.code() == ErrorCode::out_of_memory)
          << error.what();
      return false;
    }
    for (std::size_t k = 0; k < calls_.size(); ++k)
      destinations_[k]->expected = sources_[k]->expected;
    return true;
  }

  /// The bytes are right if the set was a success, and so are those of the next one; with a new
  /// engine everything has been given back.
  void expect_right(bool success) {
    rig_.driver().clear_faults();
    if (success) EXPECT_TRUE(rig_.intact());
    EXPECT_TRUE(copy());
    EXPECT_TRUE(rig_.intact());
    rig_.destroy_engines();
    EXPECT_EQ(rig_.driver().leaks(), baseline_);
    EXPECT_THAT(rig_.driver().violations(), IsEmpty());
    rig_.add_engine();
  }

  /// The uses of the call in a set that are made to fail.
  std::vector<int> uses_in_set(Call call) {
    const int before = rig_.driver().uses(call);
    EXPECT_TRUE(copy());
    std::vector<int> uses = uses_to_fail(rig_.driver(), call, before);
    expect_right(true);
    return uses;
  }

  enum class Failing { once, for_good };
  void fail_every_call(Failing failing) {
    rig_.driver().watch_sites();
    for (int kind = 0; kind < sim::kCallKinds; ++kind) {
      const auto call = static_cast<Call>(kind);
      for (const int nth : uses_in_set(call)) {
        SCOPED_TRACE(testing::Message() << sim::name_of(call) << ", use " << nth);
        if (failing == Failing::once) rig_.driver().fail_nth(call, nth);
        else rig_.driver().fail_from(call, nth);
        const bool success = copy();
        if (failing == Failing::once) EXPECT_TRUE(success);
        expect_right(success);
      }
    }
    EXPECT_THAT(rig_.close(), IsEmpty());
  }

  std::size_t bytes_ = GetParam().bytes;
  Rig rig_{GetParam().machine, settings_for(GetParam())};
  StreamHandle stream_ = rig_.stream("gpu0");
  std::deque<Buffer*> sources_;
  std::deque<Buffer*> destinations_;
  std::vector<CopyCall> calls_;
  std::vector<CopyResult> last_;
  std::vector<std::string> baseline_;
};

INSTANTIATE_TEST_SUITE_P(By, SetWithFaults,
                         testing::Values(kStreams, kGraphs, kAnotherOrder, kPieces, kKernels),
                         [](const auto& info) { return info.param.name; });

TEST_P(SetWithFaults, GoesOverSeveralPathsWithoutThem) {
  EXPECT_TRUE(copy());

  for (const CopyResult& result : last_) EXPECT_EQ(result.executor, GetParam().executor);
  EXPECT_EQ(rig_.driver().uses(Call::run_kernel) > 0, GetParam().kernels);
  expect_right(true);
}

TEST_P(SetWithFaults, IsRightIfACallFailsOnce) { fail_every_call(Failing::once); }

TEST_P(SetWithFaults, IsRightOrAnErrorIfACallFailsForGood) { fail_every_call(Failing::for_good); }

// Three ways of one stream, of which the last one fails in every way: what has been enqueued
// of the two before it, one of them beside the stream, is over before what comes next in the
// stream, here what writes where both go. The driver reports it if nothing puts the two in order.
TEST(ASetThatFails, IsBeforeWhatComesNextInItsStream) {
  Rig rig("beluga");
  const StreamHandle stream = rig.stream("gpu0");
  std::vector<CopyCall> calls;
  std::vector<Buffer*> targets;
  for (const char* to : {"gpu1", "gpu2", "gpu3"}) {
    targets.push_back(&rig.buffer(to, kSize));
    calls.push_back(rig.call(*targets.back(), 0, rig.buffer("gpu0", kSize), 0, kSize, stream,
                             {.executor = Executor::stream}));
  }
  Buffer& later = rig.buffer("gpu0", kSize);
  (void)rig.engine().copy_many(calls);
  rig.synchronize();
  const int before = rig.driver().uses(Call::copy);
  (void)rig.engine().copy_many(calls);
  const int copies = rig.driver().uses(Call::copy) - before;
  rig.synchronize();
  rig.driver().fail_from(Call::copy, copies);
  std::size_t enqueued = 0;

  EXPECT_THROW((void)rig.engine().copy_many(calls, &enqueued), Error);

  EXPECT_EQ(enqueued, 2U);
  rig.driver().clear_faults();
  for (Buffer* target : targets) rig.copy(*target, later, stream, {.executor = Executor::native});
  EXPECT_TRUE(rig.intact());
  EXPECT_THAT(rig.close(), IsEmpty());
}

// Long and then short, of one stream: the short one is issued first, beside the stream.
class ASetInAnotherOrder : public testing::Test {
 protected:
  ASetInAnotherOrder() {
    add("gpu0", "gpu1", std::size_t{512} << 20);
    add("gpu2", "gpu3", std::size_t{1} << 20);
    (void)copy();
    rig_.synchronize();
  }
  void add(const char* from, const char* to, std::size_t bytes) {
    targets_.push_back(&rig_.buffer(to, bytes));
    sources_.push_back(&rig_.buffer(from, bytes));
    calls_.push_back(rig_.call(*targets_.back(), 0, *sources_.back(), 0, bytes, stream_));
  }
  std::vector<CopyResult> copy(std::size_t* enqueued = nullptr) {
    return rig_.engine().copy_many(calls_, enqueued);
  }
  void expect_bytes(std::initializer_list<std::size_t> of) {
    for (const std::size_t k : of) targets_[k]->expected = sources_[k]->expected;
    EXPECT_TRUE(rig_.intact());
    EXPECT_THAT(rig_.close(), IsEmpty());
  }

  Rig rig_{"beluga"};
  StreamHandle stream_ = rig_.stream("gpu0");
  std::vector<Buffer*> targets_, sources_;
  std::vector<CopyCall> calls_;
};

TEST_F(ASetInAnotherOrder, HasItsResultsInTheOrderAskedFor) {
  std::size_t enqueued = 0;

  const std::vector<CopyResult> results = copy(&enqueued);

  EXPECT_EQ(enqueued, 2U);
  EXPECT_EQ(results[0].means, Method::paths);
  EXPECT_EQ(results[1].means, Method::native);
  expect_bytes({0, 1});
}

// Of the copy asked for first nothing can be enqueued. The one asked for next had been, and is not
// counted.
TEST_F(ASetInAnotherOrder, CountsNoneIfTheOneAskedForFirstFails) {
  rig_.driver().fail_from(Call::copy, 2);
  std::size_t enqueued = 7;

  EXPECT_THROW((void)copy(&enqueued), Error);

  EXPECT_EQ(enqueued, 0U);
  rig_.driver().clear_faults();
  rig_.synchronize();
  (void)copy(&enqueued);
  EXPECT_EQ(enqueued, 2U);
  expect_bytes({0, 1});
}

TEST_F(ASetInAnotherOrder, CountsNoneIfTheOneIssuedFirstFails) {
  rig_.driver().fail_from(Call::copy, 1);
  std::size_t enqueued = 7;

  EXPECT_THROW((void)copy(&enqueued), Error);

  EXPECT_EQ(enqueued, 0U);
  rig_.driver().clear_faults();
  expect_bytes({0, 1});
}

// What is queued beside the stream can neither be joined with it nor waited for.
TEST(ASetThatCannotBeJoined, IsAnError) {
  Rig rig("beluga");
  auto& driver = rig.use<WithoutSynchronize>();
  const StreamHandle stream = rig.stream("gpu0");
  std::vector<CopyCall> calls;
  for (const char* to : {"gpu1", "gpu2"})
    calls.push_back(
        rig.call(rig.buffer(to, kSize), 0, rig.buffer("gpu0", kSize), 0, kSize, stream));
  (void)rig.engine().copy_many(calls);
  rig.synchronize();
  const int before = rig.driver().uses(Call::wait);
  (void)rig.engine().copy_many(calls);
  const int waits = rig.driver().uses(Call::wait) - before;
  rig.synchronize();
  driver.working = 0;
  rig.driver().fail_nth(Call::wait, waits);

  EXPECT_THROW((void)rig.engine().copy_many(calls), UnsettledError);

  // Another side stream is used from here on.
  driver.working = WithoutSynchronize::kAlways;
  EXPECT_NO_THROW((void)rig.engine().copy_many(calls));
  rig.synchronize();
}

}  // namespace
}  // namespace polypath::test::copy_many_faults_test
