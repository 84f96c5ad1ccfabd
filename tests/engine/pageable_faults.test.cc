// Every driver call of a pageable copy fails once, and from there on for good: the copy is right,
// or reports an error; what follows is right, and nothing is leaked.

#include <gmock/gmock.h>

#include "core/error.h"
#include "support/forwarding_driver.h"
#include "support/rig.h"
#include "support/sanitizers.h"

namespace polypath::test {
namespace {

using sim::Call;
using testing::IsEmpty;

constexpr std::size_t kWindow = 16 << 10;
constexpr std::size_t kSize = 5 * kWindow - 7;

Settings fault_settings() {
  Settings settings = window_settings();
  settings.pageable_window = Bytes{kWindow};
  settings.copy_threads = 2;
  return settings;
}

struct Situation {
  bool inward;
  ExecutorChoice executor;
};

// Copies that can be made, fail and be checked; each has another source than the one before.
class PageableCall : public testing::TestWithParam<Situation> {
 protected:
  bool copy() {
    std::swap(source_, other_source_);
    try {
      rig_.copy(*destination_, *source_, stream_, options_);
      return true;
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::driver || error.code() == ErrorCode::out_of_memory)
          << error.what();
      return false;
    }
  }

  // Bytes are right if it was a success, and so is the next copy; then all has been given back.
  void expect_right(bool success) {
    rig_.driver().clear_faults();
    rig_.synchronize();
    if (success) EXPECT_TRUE(Rig::intact(*destination_));
    const std::uint64_t windowed = rig_.statistics().pageable;
    EXPECT_TRUE(copy());
    EXPECT_TRUE(rig_.intact());
    const Statistics counted = rig_.statistics();
    EXPECT_EQ(counted.pageable, windowed + 1);
    EXPECT_EQ(counted.transfers, counted.pageable + counted.fallbacks + counted.errors);
    rig_.destroy_engines();
    EXPECT_EQ(rig_.driver().leaks(), baseline_);
    EXPECT_THAT(rig_.driver().violations(), IsEmpty());
    rig_.add_engine();
  }

  int uses_in_copy(Call call) {
    const int before = rig_.driver().uses(call);
    EXPECT_TRUE(copy());
    const int uses = rig_.driver().uses(call) - before;
    expect_right(true);
    return uses;
  }

  // With each use of each kind of call in a first copy; with few of the many under a sanitizer.
  template <class Test>
  void for_every_use(int step, Test test) {
    for (int kind = 0; kind < sim::kCallKinds; ++kind) {
      const Call call = static_cast<Call>(kind);
      const int uses = uses_in_copy(call);
      const int stride = kSanitized ? std::max(step, uses / 3) : step;
      for (int nth = 1; nth <= uses; nth += stride) {
        SCOPED_TRACE(testing::Message() << sim::name_of(call) << ", use " << nth << " of " << uses);
        test(call, nth);
      }
    }
    EXPECT_THAT(rig_.close(), IsEmpty());
  }

  Rig rig_{"beluga", fault_settings()};
  Buffer& buffer(bool pageable) {
    return pageable ? rig_.pageable_buffer(kSize) : rig_.buffer("gpu0", kSize);
  }
  PlanOptions options_ = forced({"direct", "gpu2"}, GetParam().executor);
  Buffer* source_ = &buffer(GetParam().inward);
  Buffer* other_source_ = &buffer(GetParam().inward);
  Buffer* destination_ = &buffer(!GetParam().inward);
  StreamHandle stream_ = rig_.stream("gpu0");
  std::vector<std::string> baseline_ = rig_.driver().leaks();
};

INSTANTIATE_TEST_SUITE_P(Copies, PageableCall,
                         testing::Values(Situation{true, ExecutorChoice::stream},
                                         Situation{true, ExecutorChoice::graph},
                                         Situation{false, ExecutorChoice::stream},
                                         Situation{false, ExecutorChoice::graph}),
                         [](const auto& info) {
                           const bool graph = info.param.executor == ExecutorChoice::graph;
                           return std::string(info.param.inward ? "in" : "out") +
                                  (graph ? "_graph" : "_stream");
                         });

TEST_P(PageableCall, MayFailOnce) {
  for_every_use(1, [&](Call call, int nth) {
    rig_.driver().fail_nth(call, nth);

    const bool success = copy();

    EXPECT_TRUE(success);
    expect_right(success);
  });
}

TEST_P(PageableCall, MayFailForGood) {
  for_every_use(3, [&](Call call, int nth) {
    rig_.driver().fail_from(call, nth);

    const bool success = copy();

    EXPECT_EQ(success, call != Call::copy);
    expect_right(success);
  });
}

// --- two kinds of call at once ---

// Cannot wait for a stream any more once `working` calls have done so.
class WithoutSynchronize final : public ForwardingDriver {
 public:
  using ForwardingDriver::ForwardingDriver;
  void synchronize(StreamHandle stream) override {
    if (working-- <= 0) throw Error(ErrorCode::driver, "synchronize failed");
    ForwardingDriver::synchronize(stream);
  }
  int working = 1 << 20;
};

class UnsettledPageable : public testing::TestWithParam<PlanOptions> {};

// Over one path the record after a window fails, over two one within it.
INSTANTIATE_TEST_SUITE_P(Paths, UnsettledPageable,
                         testing::Values(forced({"direct"}, ExecutorChoice::stream),
                                         forced({"direct", "gpu2"}, ExecutorChoice::stream)),
                         [](const auto& info) { return info.index == 0 ? "one" : "two"; });

TEST_P(UnsettledPageable, ACopyThatCannotBeWaitedForIsAnError) {
  Rig rig("beluga", fault_settings());
  WithoutSynchronize driver(rig.driver());
  rig.use(driver);
  Buffer& source = rig.pageable_buffer(kSize);
  Buffer& destination = rig.buffer("gpu0", kSize);
  Buffer& other = rig.buffer("gpu0", kSize);
  const StreamHandle stream = rig.stream("gpu0");
  driver.working = 1;
  rig.driver().fail_nth(Call::record, 2);

  EXPECT_THROW(rig.copy(destination, source, stream, GetParam()), Error);

  EXPECT_EQ(rig.statistics().errors, 1U);
  EXPECT_EQ(rig.statistics().fallbacks, 0U);
  // Later copies do without the windows, which may be in use.
  driver.working = 1 << 20;
  rig.copy(other, source, stream, GetParam());
  EXPECT_EQ(rig.statistics().fallbacks, 1U);
  rig.synchronize();
  EXPECT_TRUE(Rig::intact(other));
  rig.destroy_engines();
  EXPECT_THAT(rig.driver().leaks(),
              testing::Contains(std::to_string(3 * kWindow) + " bytes at host0"));
}

}  // namespace
}  // namespace polypath::test
