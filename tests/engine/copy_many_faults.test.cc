// Every driver call of a set of copies fails once, and from there on for good: the set either
// reports an error or is right, what follows is right, and nothing is leaked.

#include <gmock/gmock.h>

#include <algorithm>
#include <deque>

#include "core/error.h"
#include "engine/faults.h"

namespace polypath::test {
namespace {

using sim::Call;
using testing::IsEmpty;

constexpr std::size_t kSize = std::size_t{16} << 20;

// From one GPU to two others on one stream: a branch and its join, two lanes.
class SetWithFaults : public testing::TestWithParam<Executor> {
 protected:
  SetWithFaults() {
    PlanOptions options;
    options.executor = GetParam();
    for (const char* to : {"gpu1", "gpu2"}) {
      sources_.push_back(&rig_.buffer("gpu0", kSize));
      destinations_.push_back(&rig_.buffer(to, kSize));
      calls_.push_back(
          rig_.call(*destinations_.back(), 0, *sources_.back(), 0, kSize, stream_, options));
    }
    baseline_ = rig_.driver().leaks();
  }

  /// Makes the next set, of other sources than the one before; false if it reported an error.
  bool copy() {
    std::swap(calls_[0].source, calls_[1].source);
    std::swap(sources_[0], sources_[1]);
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

  int uses_in_set(Call call) {
    const int before = rig_.driver().uses(call);
    EXPECT_TRUE(copy());
    const int uses = rig_.driver().uses(call) - before;
    expect_right(true);
    return uses;
  }

  /// Runs `test` with some uses of each kind of call, the first ones and the last ones among them.
  template <class Test>
  void for_every_call(Test test) {
    constexpr int kAtEachEnd = 4;
    for (int kind = 0; kind < sim::kCallKinds; ++kind) {
      const auto call = static_cast<Call>(kind);
      const int uses = uses_in_set(call);
      for (int nth = 1; nth <= uses; ++nth) {
        if (nth > kAtEachEnd && nth <= uses - kAtEachEnd && nth % stride_of_middle(uses) != 0)
          continue;
        SCOPED_TRACE(testing::Message() << sim::name_of(call) << ", use " << nth << " of " << uses);
        test(call, nth);
      }
    }
    EXPECT_THAT(rig_.close(), IsEmpty());
  }
  static int stride_of_middle(int uses) { return std::max(1, uses / 4); }

  Rig rig_{"beluga"};
  StreamHandle stream_ = rig_.stream("gpu0");
  std::deque<Buffer*> sources_;
  std::deque<Buffer*> destinations_;
  std::vector<CopyCall> calls_;
  std::vector<CopyResult> last_;
  std::vector<std::string> baseline_;
};

INSTANTIATE_TEST_SUITE_P(By, SetWithFaults, testing::Values(Executor::stream, Executor::graph),
                         [](const auto& info) { return name_of(info.param); });

TEST_P(SetWithFaults, GoesOverSeveralPathsWithoutThem) {
  EXPECT_TRUE(copy());

  for (const CopyResult& result : last_) EXPECT_EQ(result.executor, GetParam());
  expect_right(true);
}

TEST_P(SetWithFaults, IsRightIfACallFailsOnce) {
  for_every_call([&](Call call, int nth) {
    rig_.driver().fail_nth(call, nth);

    const bool success = copy();

    EXPECT_TRUE(success);
    expect_right(success);
  });
}

TEST_P(SetWithFaults, IsRightOrAnErrorIfACallFailsForGood) {
  for_every_call([&](Call call, int nth) {
    rig_.driver().fail_from(call, nth);

    const bool success = copy();

    expect_right(success);
  });
}

// What is queued beside the stream can neither be joined with it nor waited for.
TEST(ASetThatCannotBeJoined, IsAnError) {
  Rig rig("beluga");
  WithoutSynchronize driver(rig.driver());
  rig.use(driver);
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
}  // namespace polypath::test
