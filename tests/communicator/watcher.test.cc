// What one thread looks at for all communicators of a process (communicator/watcher.h).

#include "communicator/watcher.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>

#include "support/layers.h"

namespace polypath::test::watcher_test {
namespace {

constexpr int kLooks = 3;

class Counted final : public Watched {
 public:
  explicit Counted(bool busy) : busy_(busy) {}

  bool look() noexcept override {
    ++looks_;
    looks_.notify_all();
    return busy_;
  }
  [[nodiscard]] int looks() const { return looks_; }
  /// Returns once it has been looked at so often.
  void await(int looks) const {
    for (int seen = looks_; seen < looks; seen = looks_) looks_.wait(seen);
  }

 private:
  const bool busy_;
  std::atomic<int> looks_{0};
};

struct Pair {
  const char* name;
  bool first_is_busy, second_is_busy;
};

class TwoWatched : public testing::TestWithParam<Pair> {};

INSTANTIATE_TEST_SUITE_P(Watcher, TwoWatched,
                         testing::Values(Pair{"both_busy", true, true},
                                         Pair{"the_first_busy", true, false},
                                         Pair{"the_second_busy", false, true}),
                         [](const auto& info) { return std::string(info.param.name); });

// The busy one is looked at again and again; the other one is meanwhile, too. All are looked at
// in turn, so that none is more than one look ahead.
TEST_P(TwoWatched, AreBothLookedAtAsLongAsOneIsBusy) {
  const auto first = std::make_shared<Counted>(GetParam().first_is_busy);
  const auto second = std::make_shared<Counted>(GetParam().second_is_busy);
  Watcher watcher;
  watcher.add(first);
  watcher.add(second);

  watcher.wake();
  first->await(GetParam().first_is_busy ? kLooks : 0);
  second->await(GetParam().first_is_busy ? 0 : kLooks);

  EXPECT_GE(first->looks(), kLooks - 1);
  EXPECT_GE(second->looks(), kLooks - 1);
}

TEST(Watcher, LooksAtNothingThatIsGone) {
  const auto busy = std::make_shared<Counted>(true);
  auto gone = std::make_shared<Counted>(true);
  const std::weak_ptr<Counted> left = gone;
  Watcher watcher;
  watcher.add(gone);
  watcher.add(busy);

  gone.reset();
  watcher.wake();
  busy->await(kLooks);

  EXPECT_TRUE(left.expired());
}

}  // namespace
}  // namespace polypath::test::watcher_test
