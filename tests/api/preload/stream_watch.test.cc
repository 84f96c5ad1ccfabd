// Behind which work several paths may be taken.

#include "api/preload/stream_watch.h"

#include <gtest/gtest.h>

#include <thread>

namespace polypath::preload::stream_watch_test {
namespace {

using Order = StreamWatch::Order;

cuda::StreamPointer stream(std::uintptr_t number) {
  return reinterpret_cast<cuda::StreamPointer>(number << 12);
}
const cuda::StreamPointer kDefault = nullptr;
cuda::ContextPointer context(std::uintptr_t number) {
  return reinterpret_cast<cuda::ContextPointer>(number << 20);
}

// Asks of streams that are idle or not, and counts how often the driver would have been asked.
class Watched : public testing::Test {
 protected:
  bool free(cuda::StreamPointer asked, bool idle, Order order = Order::alone,
            cuda::ContextPointer in = nullptr) {
    return watch_.waits_for_nobody(asked, order, in, [&] {
      ++questions_;
      return idle;
    });
  }

  StreamWatch watch_;
  int questions_ = 0;
};

TEST_F(Watched, AStreamIsAskedTheFirstTimeOnly) {
  EXPECT_TRUE(free(stream(1), true));
  EXPECT_TRUE(free(stream(1), false));  // copies may be in it by now, and nothing else

  EXPECT_EQ(questions_, 1);
}

TEST_F(Watched, OneThatIsNotIdleAtFirstIsAskedAgain) {
  EXPECT_FALSE(free(stream(1), false));
  EXPECT_FALSE(free(stream(1), false));
  EXPECT_TRUE(free(stream(1), true));

  EXPECT_EQ(questions_, 3);
}

TEST_F(Watched, WhatMayWaitForTheProgramCountsUntilItIsOver) {
  (void)free(stream(1), true);

  watch_.note(stream(1));

  EXPECT_FALSE(free(stream(1), false));
  EXPECT_TRUE(free(stream(1), true));
  EXPECT_TRUE(free(stream(1), false));
}

TEST_F(Watched, OtherStreamsDoNotMatterToOneThatIsAlone) {
  (void)free(stream(1), true);

  watch_.note(stream(2));

  EXPECT_TRUE(free(stream(1), false));
}

TEST_F(Watched, AllStreamsMatterToOneThatIsInOrderWithTheDefaultStream) {
  (void)free(stream(1), true, Order::with_default);

  watch_.note(stream(2));

  EXPECT_FALSE(free(stream(1), false, Order::with_default));
}

TEST_F(Watched, DefaultStreamsOfTwoContextsAreTwo) {
  watch_.note(kDefault);
  (void)free(kDefault, true, Order::with_default, context(1));

  EXPECT_FALSE(free(kDefault, false, Order::with_default, context(2)));
}

TEST_F(Watched, DefaultStreamsOfTwoThreadsAreTwo) {
  (void)free(kDefault, true, Order::with_default, context(1));
  bool of_other = true;

  std::thread([&] { of_other = free(kDefault, false, Order::with_default, context(1)); }).join();

  EXPECT_FALSE(of_other);
}

TEST_F(Watched, NobodyIsAskedWhetherAStreamMayWait) {
  const auto may_wait = [&](cuda::StreamPointer asked) {
    return watch_.may_wait(asked, Order::alone, nullptr);
  };
  EXPECT_FALSE(may_wait(stream(1)));

  watch_.note(stream(1));
  EXPECT_TRUE(may_wait(stream(1)));
  EXPECT_FALSE(may_wait(stream(2)));

  (void)free(stream(1), true);
  EXPECT_FALSE(may_wait(stream(1)));
  EXPECT_EQ(questions_, 1);
}

TEST_F(Watched, WhatIsNotedWhileAStreamIsAskedCountsAsNew) {
  const bool idle = watch_.waits_for_nobody(stream(1), Order::alone, nullptr, [&] {
    watch_.note(stream(1));
    return true;
  });

  EXPECT_TRUE(idle);
  EXPECT_FALSE(free(stream(1), false));
}

TEST_F(Watched, ManyStreamsAreAskedAgainAtWorst) {
  for (std::uintptr_t number = 1; number < 5000; ++number) (void)free(stream(number), true);

  EXPECT_TRUE(free(stream(1), true));
  EXPECT_FALSE(free(stream(5000), false));
}

}  // namespace
}  // namespace polypath::preload::stream_watch_test
