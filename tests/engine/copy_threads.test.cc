// Copies of ordinary memory by several threads: every byte, for any caller, and a quiet end.

#include "engine/pageable/copy_threads.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "support/bytes.h"
#include "support/sanitizers.h"

namespace polypath::test::copy_threads_test {
namespace {

Address address_of(const Contents& contents) {
  return {reinterpret_cast<std::uintptr_t>(contents.data())};
}

class Counts : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Threads, Counts, testing::Values(1, 2, 5));

TEST_P(Counts, CopyEveryByteOfEverySize) {
  CopyThreads threads(GetParam());
  for (const std::size_t size : {1UL, 4095UL, 65536UL, 65537UL, 1000003UL, 5000001UL}) {
    const Contents source = pattern(size, size);
    Contents destination(size + 2, 7);

    const auto ticket = threads.start({address_of(destination) + 1_B, address_of(source), {size}});
    threads.finish();

    EXPECT_TRUE(threads.is_done(ticket));
    EXPECT_EQ(destination.front(), 7);
    EXPECT_EQ(destination.back(), 7);
    EXPECT_TRUE(same_bytes({destination.begin() + 1, destination.end() - 1}, source));
  }
}

TEST_P(Counts, CopyEveryBytePastTheCachesFromAnyAddressToAny) {
  CopyThreads threads(GetParam());
  const Contents source = pattern(300000, 9);
  for (const std::uint64_t to : {0UL, 1UL, 16UL, 63UL, 64UL})
    for (const std::uint64_t from : {0UL, 1UL, 17UL})
      for (const std::uint64_t size : {1UL, 62UL, 64UL, 65UL, 129UL, 200001UL}) {
        Contents destination(size + 129, 7);

        const auto ticket = threads.start({address_of(destination) + Bytes{to},
                                           address_of(source) + Bytes{from},
                                           {size},
                                           Stores::past_caches});
        threads.finish();

        EXPECT_TRUE(threads.is_done(ticket));
        Contents expected(destination.size(), 7);
        std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), size,
                    expected.begin() + static_cast<std::ptrdiff_t>(to));
        EXPECT_TRUE(same_bytes(destination, expected)) << to << ' ' << from << ' ' << size;
      }
}

TEST_P(Counts, CopiesMayWaitInLine) {
  CopyThreads threads(GetParam());
  const Contents source = pattern(300001, 1);
  std::vector<Contents> destinations(20, Contents(source.size()));
  std::vector<CopyThreads::Ticket> tickets;

  for (const Contents& destination : destinations)
    tickets.push_back(
        threads.start({address_of(destination), address_of(source), {source.size()}}));

  for (std::size_t i = 0; i < tickets.size(); ++i) {
    while (!threads.is_done(tickets[i]))
      if (!threads.help()) std::this_thread::yield();
    EXPECT_TRUE(same_bytes(destinations[i], source));
  }
}

TEST_P(Counts, WhatWasStartedIsFinishedAtTheEnd) {
  const Contents source = pattern(3 << 20, 2);
  Contents destination(source.size());

  {
    CopyThreads threads(GetParam());
    (void)threads.start({address_of(destination), address_of(source), {source.size()}});
  }

  EXPECT_TRUE(same_bytes(destination, source));
}

// They sleep when nothing comes for a while.
TEST_P(Counts, SleepingThreadsWakeUp) {
  CopyThreads threads(GetParam());
  const Contents source = pattern(1 << 20, 3);
  for (int round = 0; round < 5; ++round) {
    Contents destination(source.size());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));

    const auto ticket =
        threads.start({address_of(destination), address_of(source), {source.size()}});
    if (GetParam() == 1) threads.finish();
    while (!threads.is_done(ticket)) std::this_thread::yield();

    EXPECT_TRUE(same_bytes(destination, source));
  }
}

TEST(CopyThreads, MayBeAskedByManyAtOnce) {
  CopyThreads threads(3);
  std::vector<std::thread> askers;
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    askers.emplace_back([&threads, seed] {
      const Contents source = pattern(200000 + seed, seed);
      for (int round = 0; round < 20; ++round) {
        Contents destination(source.size());
        const auto ticket =
            threads.start({address_of(destination), address_of(source), {source.size()}});
        while (!threads.is_done(ticket)) threads.help();
        EXPECT_TRUE(same_bytes(destination, source));
      }
    });
  for (std::thread& asker : askers) asker.join();
}

// The child has no threads to join.
TEST(CopyThreads, GoQuietlyInAForkedChild) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer may not fork with threads";
  auto* threads = new CopyThreads(3);
  const Contents source = pattern(1 << 20, 4);
  Contents destination(source.size());
  (void)threads->start({address_of(destination), address_of(source), {source.size()}});
  threads->finish();

  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    delete threads;
    _exit(0);
  }

  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  delete threads;
}

}  // namespace
}  // namespace polypath::test::copy_threads_test
