// Tasks are done in order by a thread that sees only the signals that it causes itself.

#include "core/background.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "support/layers.h"

namespace polypath::test::background_test {
namespace {

TEST(BackgroundTasks, AreDoneInTheirOrder) {
  Background background;
  std::vector<int> done;
  std::promise<void> last;

  for (int i = 0; i < 100; ++i) background.post([&, i] { done.push_back(i); });
  background.post([&] { last.set_value(); });
  last.get_future().wait();

  ASSERT_EQ(done.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<std::size_t>(i)], i);
}

TEST(BackgroundTasks, MayComeWhenTheThreadHasEnded) {
  Background background(Background::Priority::low, Seconds{});
  for (int i = 0; i < 20; ++i) {
    std::promise<void> done;
    background.post([&] { done.set_value(); });
    done.get_future().wait();
  }
}

pid_t thread_of(Background& background) {
  std::promise<pid_t> thread;
  background.post([&] { thread.set_value(gettid()); });
  return thread.get_future().get();
}

TEST(BackgroundTasks, FindTheThreadOfThoseBefore) {
  Background background;

  const pid_t first = thread_of(background);
  background.post([] {});
  std::this_thread::sleep_for(std::chrono::milliseconds(5));

  EXPECT_EQ(thread_of(background), first);
}

int nice_value_in(Background& background) {
  std::promise<int> value;
  background.post([&] { value.set_value(getpriority(PRIO_PROCESS, static_cast<id_t>(gettid()))); });
  return value.get_future().get();
}

TEST(BackgroundTasks, GiveWayUnlessTheyMustNotWait) {
  const int own = getpriority(PRIO_PROCESS, static_cast<id_t>(gettid()));
  Background low, normal(Background::Priority::normal);

  EXPECT_EQ(nice_value_in(low), 19);
  EXPECT_EQ(nice_value_in(normal), own);
}

TEST(BackgroundTasks, AreDroppedAfterTheEnd) {
  Background background;
  background.stop();
  bool done = false;

  background.post([&] { done = true; });
  background.stop();

  EXPECT_FALSE(done);
}

TEST(BackgroundTasks, TheOneInProgressIsFinished) {
  std::promise<void> begun;
  bool finished = false;
  {
    Background background;
    background.post([&] {
      begun.set_value();
      usleep(10000);
      finished = true;
    });
    begun.get_future().wait();
  }
  EXPECT_TRUE(finished);
}

TEST(BackgroundTasks, EndTheirPausesWhenTheBackgroundEnds) {
  constexpr Seconds kLongerThanAnyTest{3600};
  Background background;
  std::promise<void> begun;
  bool whole = true;
  background.post([&] {
    begun.set_value();
    whole = background.pause(kLongerThanAnyTest);
  });
  begun.get_future().wait();
  usleep(10000);  // most likely it pauses by now

  background.stop();

  EXPECT_FALSE(whole);
}

TEST(BackgroundTasks, SeeNoSignalsButTheirOwn) {
  Background background;
  std::promise<sigset_t> blocked;
  background.post([&] {
    sigset_t set;
    pthread_sigmask(SIG_SETMASK, nullptr, &set);
    blocked.set_value(set);
  });
  const sigset_t set = blocked.get_future().get();

  for (const int signal : std::array{SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD, SIGPROF})
    EXPECT_EQ(sigismember(&set, signal), 1) << signal;
  for (const int signal : std::array{SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    EXPECT_EQ(sigismember(&set, signal), 0) << signal;
}

TEST(BackgroundTasks, AreNotDoneInAForkedChild) {
  Background background;
  std::promise<void> begun;
  background.post([&] { begun.set_value(); });
  begun.get_future().wait();

  const pid_t child = fork();
  if (child == 0) {
    bool done = false;
    background.post([&] { done = true; });
    background.stop();
    _exit(done ? 1 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);

  EXPECT_EQ(status, 0);
}

// The parent's thread waits for more to do meanwhile.
TEST(BackgroundTasks, CanBeLetGoOfInAForkedChild) {
  auto background = std::make_unique<Background>();
  (void)thread_of(*background);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));

  const pid_t child = fork();
  if (child == 0) {
    alarm(30);  // else a child that hangs would go on for ever
    background.reset();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);

  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace polypath::test::background_test
