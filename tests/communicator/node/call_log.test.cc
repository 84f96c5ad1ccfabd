#include "communicator/node/call_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "communicator/together.h"
#include "support/random.h"

namespace polypath::test::call_log_test {
namespace {

using test::all_reduce;
using testing::AllOf;
using testing::HasSubstr;
using testing::Optional;

constexpr CallNumber kRing = ControlBlock::kCalls;

// The calls of some ranks of one node, which are 10, 11, ... of their communicator.
class CallLogs : public testing::Test {
 protected:
  explicit CallLogs(int ranks = 2)
      : block(NamedMemory::alone(ControlBlock::bytes_for(ranks)), ranks) {
    std::vector<int> numbers;
    for (int rank = 0; rank < ranks; ++rank) numbers.push_back(10 + rank);
    for (int rank = 0; rank < ranks; ++rank) logs.emplace_back(block, numbers, rank);
  }

  std::optional<std::string> call(int rank, const CallRecord& record) {
    CallLog& log = logs[static_cast<std::size_t>(rank)];
    log.enter(record);
    return log.compare();
  }
  void call_alike(int rank, CallNumber calls, std::uint64_t first = 1) {
    for (std::uint64_t count = first; count < first + calls; ++count)
      ASSERT_EQ(call(rank, all_reduce(count)), std::nullopt) << count;
  }

  ControlBlock block;
  std::vector<CallLog> logs;
};

TEST_F(CallLogs, AgreeOnTheSameCalls) {
  for (std::uint64_t count = 1; count <= 3 * kRing; ++count) {
    EXPECT_EQ(call(0, all_reduce(count)), std::nullopt);
    EXPECT_EQ(call(1, all_reduce(count)), std::nullopt);
  }
}

TEST_F(CallLogs, NameWhoDiffersInWhat) {
  EXPECT_EQ(call(0, all_reduce(512)), std::nullopt);

  EXPECT_THAT(call(1, all_reduce(1024)),
              Optional(AllOf(HasSubstr("Rank 10 calls allreduce of 512 float32"),
                             HasSubstr("rank 11 calls allreduce of 1024 float32"),
                             HasSubstr("call 1: they differ in count"))));
}

TEST_F(CallLogs, FindTheCallThatDiffersHoweverLateItIsCompared) {
  call_alike(0, 5);
  call_alike(1, 2);
  logs[1].enter(all_reduce(77));  // and does not look
  logs[1].enter(all_reduce(4));

  EXPECT_THAT(logs[0].compare_with_slower(), Optional(HasSubstr("call 3: they differ in count")));
}

// Rank 10 is 2·N calls ahead: call 4 of rank 11 is compared with what rank 10 kept.
TEST_F(CallLogs, CompareWithOneThatTheRingHasForgotten) {
  call_alike(0, 2 * kRing);
  call_alike(1, 3);

  EXPECT_EQ(call(1, all_reduce(99)), std::nullopt) << "its call 4 is overwritten";
  EXPECT_THAT(logs[0].compare_with_slower(),
              Optional(AllOf(HasSubstr("Rank 11 calls allreduce of 99"),
                             HasSubstr("rank 10 calls allreduce of 4"))));
}

TEST_F(CallLogs, LookBackWhileTheyGoOn) {
  call_alike(0, 10);
  logs[1].enter(all_reduce(99));  // and does not look
  std::optional<std::string> found;

  for (std::uint64_t count = 11; !found && count < kRing; ++count)
    found = call(0, all_reduce(count));

  EXPECT_THAT(found, Optional(HasSubstr("call 1: they differ in count")));
}

TEST_F(CallLogs, KeepNoMoreThanTheyAreAhead) {
  call_alike(0, 2 * kRing);
  EXPECT_EQ(logs[0].kept(), 2 * kRing);

  call_alike(1, 2 * kRing - 5);
  ASSERT_EQ(logs[0].compare_with_slower(), std::nullopt);
  EXPECT_EQ(logs[0].kept(), 5U);

  call_alike(1, 5, 2 * kRing - 4);
  ASSERT_EQ(logs[0].compare_with_slower(), std::nullopt);
  EXPECT_EQ(logs[0].kept(), 0U);
}

// The rank that was ahead falls behind, and the other way round.
TEST_F(CallLogs, OvertakeEachOther) {
  call_alike(0, 100);
  call_alike(1, kRing + 300);
  call_alike(0, kRing + 500, 101);

  EXPECT_EQ(logs[0].compare_with_slower(), std::nullopt);
  EXPECT_EQ(logs[1].compare_with_slower(), std::nullopt);
  logs[1].enter(all_reduce(9));
  EXPECT_THAT(logs[0].compare_with_slower(),
              Optional(HasSubstr("call 1325: they differ in count")));
}

class ManyCallLogs : public CallLogs, public testing::WithParamInterface<int> {
 protected:
  ManyCallLogs() : CallLogs(GetParam()) {}
};

INSTANTIATE_TEST_SUITE_P(Ranks, ManyCallLogs, testing::Values(1, 2, 3, 5, 7, 8, 9));

// One rank does one thing else; in any order of calls some rank finds it, in the end at the latest.
TEST_P(ManyCallLogs, FindOneDifferenceInAnyOrderOfCalls) {
  test::Random random(static_cast<std::uint64_t>(GetParam()));
  const auto ranks = static_cast<std::size_t>(GetParam());
  const CallNumber calls = 3 * kRing, odd_call = 1 + random.index(calls);
  const std::size_t odd_rank = random.index(ranks);
  std::optional<std::string> found;

  for (std::size_t turn = 0; turn < 40 * ranks && !found; ++turn) {
    const std::size_t rank = turn < 30 * ranks ? random.index(ranks) : turn % ranks;
    for (std::size_t burst = random.index(kRing); burst > 0 && !found; --burst) {
      const CallNumber next = logs[rank].latest() + 1;
      if (next > calls) break;
      const bool odd = rank == odd_rank && next == odd_call;
      found = call(static_cast<int>(rank), all_reduce(odd ? 0 : next));
    }
    if (!found) found = logs[rank].compare_with_slower();
  }

  EXPECT_EQ(found.has_value(), ranks > 1);
}

}  // namespace
}  // namespace polypath::test::call_log_test
