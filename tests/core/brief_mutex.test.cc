#include "core/brief_mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "support/layers.h"

namespace polypath::test::brief_mutex_test {
namespace {

TEST(BriefMutex, LetsOneThreadInAtATime) {
  BriefMutex mutex;
  int count = 0;
  std::vector<std::thread> threads;

  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int turn = 0; turn < 10000; ++turn) {
        const std::scoped_lock lock(mutex);
        ++count;
      }
    });
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(count, 40000);
}

TEST(BriefMutex, IsGotByAThreadThatHasToSleepForIt) {
  BriefMutex mutex;
  bool got = false;
  mutex.lock();
  std::thread waiting([&] {
    const std::scoped_lock lock(mutex);
    got = true;
  });

  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const bool got_before = got;
  mutex.unlock();
  waiting.join();

  EXPECT_FALSE(got_before);
  EXPECT_TRUE(got);
}

TEST(BriefMutex, IsNotGotTwice) {
  BriefMutex mutex;
  const std::scoped_lock lock(mutex);

  bool got = true;
  std::thread([&] { got = mutex.try_lock(); }).join();

  EXPECT_FALSE(got);
}

}  // namespace
}  // namespace polypath::test::brief_mutex_test
