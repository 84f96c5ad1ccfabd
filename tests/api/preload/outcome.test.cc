// The table of what became of a program's copies.

#include "api/preload/outcome.h"

#include <gmock/gmock.h>

#include <set>
#include <thread>
#include <vector>

#include "api/preload/program_copy.h"

namespace polypath::preload::outcome_test {
namespace {

TEST(Tally, SaysWhatHappenedAndNothingElse) {
  Tally tally;
  tally.count(Outcome::streams, 64_MiB);
  tally.count(Outcome::streams, 64_MiB);
  tally.count(Outcome::capturing, 2_MiB);

  const std::string table = tally.table(77, "");

  EXPECT_EQ(table,
            "polypath: copies of process 77: calls, bytes\n"
            "polypath:            2      128 MiB  accelerated\n"
            "polypath:            2      128 MiB    over several paths, by streams\n"
            "polypath:            1        2 MiB  passed to the driver as they were\n"
            "polypath:            1        2 MiB    stream being captured\n");
}

TEST(Tally, SaysWhyPolypathIsOff) {
  Tally tally;
  tally.count(Outcome::off, 4_MiB);
  EXPECT_THAT(tally.table(1, "it could not start"),
              testing::HasSubstr("Polypath is off in this process: it could not start"));
}

TEST(Tally, LosesNoCountAmongThreads) {
  Tally tally;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 10000; ++k) tally.count(Outcome::small, 3_B);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(tally.calls(Outcome::small), 40000U);
  EXPECT_EQ(tally.bytes(Outcome::small), 120000_B);
}

TEST(Tally, StartsAgainFromZero) {
  Tally tally;
  tally.count(Outcome::native, 1_MiB);
  tally.clear();
  EXPECT_EQ(tally.calls(Outcome::native), 0U);
  EXPECT_EQ(tally.bytes(Outcome::native), 0_B);
}

TEST(Tally, CountsWhereOthersSeeIt) {
  Tally tally;
  Tally::Counts seen;
  tally.count(Outcome::native, 1_MiB);

  tally.count_in(&seen);
  tally.count(Outcome::native, 2_MiB);

  EXPECT_EQ(seen[static_cast<std::size_t>(Outcome::native)].bytes, (2_MiB).value);
  EXPECT_EQ(tally.bytes(Outcome::native), 2_MiB);
  tally.count_in(nullptr);
  EXPECT_EQ(tally.bytes(Outcome::native), 1_MiB);
}

TEST(Tally, CountsLargeCopiesAndWhatWasMissed) {
  Tally tally;
  tally.count(Outcome::preparing, 1_MiB);
  tally.count({Outcome::preparing, 30_us}, 2_MiB);
  tally.count({Outcome::preparing, 20_us}, 4_MiB);

  EXPECT_EQ(tally.bytes(Outcome::preparing), 7_MiB);
  EXPECT_EQ(tally.large_bytes(Outcome::preparing), 6_MiB);
  EXPECT_NEAR(tally.missed(Outcome::preparing).value, 50e-6, 2e-9);
  EXPECT_EQ(tally.missed(Outcome::native), Seconds{});
}

TEST(Tally, EveryOutcomeHasWordsOfItsOwn) {
  std::set<std::string> texts;
  for (std::size_t i = 0; i < kOutcomes; ++i) texts.insert(text_of(static_cast<Outcome>(i)));
  EXPECT_EQ(texts.size(), kOutcomes);
  EXPECT_EQ(texts.count(""), 0U);
}

cuda::StreamPointer pointer(std::uintptr_t value) {
  return reinterpret_cast<cuda::StreamPointer>(value);
}

TEST(ProgramStream, NullIsTheDefaultStreamOfTheCallsForm) {
  EXPECT_EQ(stream_of(nullptr, NullStream::legacy), nullptr);
  EXPECT_EQ(stream_of(nullptr, NullStream::own), pointer(cuda::kStreamPerThread));
}

TEST(ProgramStream, NamedStreamsAreTheSameInEveryForm) {
  for (const NullStream form : {NullStream::legacy, NullStream::own}) {
    EXPECT_EQ(stream_of(pointer(cuda::kStreamLegacy), form), nullptr);
    EXPECT_EQ(stream_of(pointer(cuda::kStreamPerThread), form), pointer(cuda::kStreamPerThread));
    EXPECT_EQ(stream_of(pointer(0x1234560), form), pointer(0x1234560));
  }
}

}  // namespace
}  // namespace polypath::preload::outcome_test
