// What communicators do for ranks of one process, whose ends are all in the hand of one thread.

#include "communicator/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "communicator/together.h"
#include "support/errors.h"
#include "support/processes.h"
#include "support/sanitizers.h"

namespace polypath::test::communicator_test {
namespace {

using test::all_reduce;
using test::awaited_verdict;
using test::Communicators;
using test::communicators;
using test::kLong;
using test::kShort;
using test::verdict;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

CommunicatorOptions short_options() { return {.node = {}, .timeout = kShort}; }

class Sizes : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Ranks, Sizes, testing::Values(1, 2, 3, 5, 7, 8));

TEST_P(Sizes, KnowTheirRanksAndCountTheirCallsAlike) {
  const Communicators all = communicators(GetParam());

  for (CallNumber call = 1; call <= 5; ++call)
    for (const auto& one : all) EXPECT_EQ(one->begin(all_reduce(call)), call);

  for (int rank = 0; rank < GetParam(); ++rank) {
    const Communicator& one = *all[static_cast<std::size_t>(rank)];
    EXPECT_EQ(one.rank(), rank);
    EXPECT_EQ(one.size(), GetParam());
    EXPECT_EQ(one.nodes().count(), 1);
    EXPECT_EQ(one.id(), all[0]->id());
  }
}

TEST_P(Sizes, LeaveNothingWithAName) {
  const auto before = test::named_blocks();

  const Communicators all = communicators(GetParam());

  EXPECT_TRUE(test::nothing_new_has_a_name(before));
}

// All threads at once: no rank is told of a difference that is none.
TEST_P(Sizes, AgreeAtFullSpeed) {
  const Communicators all = communicators(GetParam());

  test::expect_no_errors(test::in_threads(GetParam(), [&](int rank) {
    for (std::uint64_t count = 1; count <= 20000; ++count)
      all[static_cast<std::size_t>(rank)]->begin(all_reduce(count));
  }));
}

// Without anything to wait for, threads are many thousand calls apart: which call it was may be
// forgotten, but not that there was one.
TEST_P(Sizes, TellAllOfOneDifferenceAtFullSpeed) {
  const Communicators all = communicators(GetParam());
  if (GetParam() == 1) return;

  const auto errors = test::in_threads(GetParam(), [&](int rank) {
    const auto odd = static_cast<std::uint64_t>(rank == GetParam() - 1 ? 5000 : 0);
    for (std::uint64_t count = 1; count <= 10'000'000; ++count)
      all[static_cast<std::size_t>(rank)]->begin(all_reduce(count == odd ? 7 : count));
  });

  for (const std::string& error : errors) {
    EXPECT_EQ(error, errors[0]);
    EXPECT_THAT(error,
                testing::AnyOf(HasSubstr("calls allreduce of 7"), HasSubstr("one of calls")));
  }
}

TEST(Communicator, TellsAllWhoDiffersInWhat) {
  const Communicators all = communicators(3);
  all[0]->begin(all_reduce(512));
  all[1]->begin(all_reduce(512));

  test::expect_invalid_argument([&] { all[2]->begin(all_reduce(1024)); },
                                "calls allreduce of 512 float32",
                                "rank 2 calls allreduce of 1024 float32", "they differ in count");
  for (const auto& one : all) {
    test::expect_invalid_argument([&] { one->begin(all_reduce(1)); }, "rank 2 calls");
    test::expect_invalid_argument([&] { one->check(); }, "rank 2 calls");
  }
}

TEST(Communicator, IsOneOfSeveralThatDoNotDisturbEachOther) {
  const Communicators first = communicators(2), second = communicators(2);
  EXPECT_NE(first[0]->id(), second[0]->id());

  first[0]->begin(all_reduce(1));
  second[1]->begin(all_reduce(2));
  second[0]->begin(all_reduce(2));
  test::expect_invalid_argument([&] { first[1]->begin(all_reduce(2)); }, "count");

  EXPECT_EQ(second[1]->begin(all_reduce(3)), 2U);
  EXPECT_EQ(second[0]->begin(all_reduce(3)), 2U);
}

TEST(Communicator, NamesWhoHasNotComeWhenTheTimeIsOver) {
  const Communicators all = communicators(4, short_options());
  const CallNumber call = all[0]->begin(all_reduce(9));
  all[2]->begin(all_reduce(9));

  all[0]->watch(call, [] { return false; });

  EXPECT_THAT(
      awaited_verdict(*all[0]),
      AllOf(HasSubstr("After 0.3 s there is no end of call 1, allreduce of 9 float32 (sum) ("),
            HasSubstr("ranks 1 and 3 did not come to it"),
            HasSubstr("POLYPATH_COMMUNICATOR_TIMEOUT")));
  test::expect_error(
      ErrorCode::communicator, [&] { all[1]->begin(all_reduce(9)); }, "ranks 1 and 3");
}

TEST(Communicator, SaysThatAllHaveComeWhereAnOperationHangs) {
  const Communicators all = communicators(2, short_options());
  for (const auto& one : all) one->begin(all_reduce(9));

  all[1]->watch(1, [] { return false; });

  EXPECT_THAT(awaited_verdict(*all[0]), HasSubstr("all ranks of this node have come to it"));
}

// Each call is over a fifth of the timeout after the one before: the last one, in the queue for
// longer than the timeout, is not late.
TEST(Communicator, CountsTheTimeFromTheEndOfEarlierCalls) {
  const Communicators all = communicators(2, {.node = {}, .timeout = Seconds{1.0}});
  std::atomic<CallNumber> over{0};
  constexpr CallNumber kCalls = 10;
  for (CallNumber call = 1; call <= kCalls; ++call) {
    for (const auto& one : all) one->begin(all_reduce(call));
    all[0]->watch(call, [&over, call] { return over >= call; });
  }

  for (; over < kCalls; ++over) std::this_thread::sleep_for(std::chrono::milliseconds(200));

  EXPECT_NO_THROW(all[0]->check());
}

TEST(Communicator, LooksUntilTheCallIsOver) {
  const Communicators all = communicators(2, short_options());
  std::atomic<int> asked{0};
  for (const auto& one : all) one->begin(all_reduce(9));

  all[0]->watch(1, [&] { return ++asked == 3; });

  ASSERT_TRUE(test::soon([&] { return asked == 3; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(600));  // twice the timeout
  EXPECT_EQ(asked, 3);
  EXPECT_NO_THROW(all[0]->check());
}

TEST(Communicator, ReleasesWhatWaitsOnceItIsAborted) {
  const Communicators all = communicators(2, short_options());
  std::atomic<int> released{0};
  all[0]->on_abort([&] { ++released; });
  all[0]->begin(all_reduce(9));
  all[0]->watch(1, [] { return false; });

  ASSERT_TRUE(test::soon([&] { return released == 1; }));
  EXPECT_ANY_THROW(all[0]->begin(all_reduce(9)));
  all[0]->abort("once more");
  EXPECT_EQ(released, 1);

  all[0]->on_abort([&] { ++released; });
  EXPECT_EQ(released, 2) << "what is too late is called at once";
}

TEST(Communicator, ReleasesWhatWaitsWhenAnotherRankGivesUp) {
  const Communicators all = communicators(2);
  std::atomic<bool> released{false};
  all[0]->on_abort([&] { released = true; });
  all[0]->begin(all_reduce(9));
  all[0]->watch(1, [] { return false; });

  all[1]->abort("The disk is full");

  EXPECT_TRUE(test::soon([&] { return released.load(); }));
  test::expect_error(
      ErrorCode::communicator, [&] { all[0]->check(); }, "The disk is full");
}

// Its second call differs from one that rank 0 has long overwritten.
// As after an error of a GPU, which every question about it then answers with.
TEST(Communicator, IsEndedByAQuestionThatFails) {
  const auto all = communicators(2);
  const CallNumber call = all[0]->begin(all_reduce(8));

  all[0]->watch(call, []() -> bool { fail(ErrorCode::driver, "the GPU is gone"); });

  for (const auto& each : all)
    EXPECT_THAT(awaited_verdict(*each),
                AllOf(HasSubstr("Rank 0 has failed in call 1"), HasSubstr("allreduce of 8 float32"),
                      HasSubstr("the GPU is gone")));
}

TEST(Communicator, IsEndedByWhatIsKnownOfOtherNodesOnceACallIsUnderWay) {
  const auto all = communicators(2);
  for (const auto& each : all)
    each->doubt([] { return Error(ErrorCode::driver, "rank 7 is out of memory"); });
  EXPECT_EQ(verdict(*all[0]), "");

  all[0]->watch(all[0]->begin(all_reduce(8)), [] { return false; });

  for (const auto& each : all) EXPECT_EQ(awaited_verdict(*each), "rank 7 is out of memory");
}

TEST(Communicator, SaysThatARankHasLeftWhereOthersGoOn) {
  const auto all = communicators(2);
  (void)all[1]->begin(kClosing);

  std::string error;
  try {
    (void)all[0]->begin(all_reduce(8));
  } catch (const Error& problem) {
    error = problem.what();
  }

  EXPECT_THAT(error, HasSubstr("Rank 1 has left, where rank 0 calls allreduce of 8 float32"));
  EXPECT_EQ(verdict(*all[1]), error);
}

TEST(Communicator, WaitsForAsLongAsItWasToldLast) {
  const auto all = communicators(2);
  all[0]->set_timeout(kShort);

  all[0]->watch(all[0]->begin(all_reduce(8)), [] { return false; });

  EXPECT_THAT(awaited_verdict(*all[0]), HasSubstr("After 0.3 s there is no end of call 1"));
}

TEST(Communicator, KnowsWhetherWhatOthersHaveQueuedIsOver) {
  const auto all = communicators(2);
  EXPECT_TRUE(all[0]->await_settled(kShort)) << "nothing was called";

  const CallNumber first = all[1]->begin(all_reduce(8));
  EXPECT_FALSE(all[0]->await_settled(kShort)) << "it may be queued";

  std::atomic<bool> is_over = false;
  all[1]->watch(first, [&] { return is_over.load(); });
  EXPECT_FALSE(all[0]->await_settled(kShort)) << "it is queued";
  is_over = true;
  EXPECT_TRUE(all[0]->await_settled(kLong));

  (void)all[1]->begin(all_reduce(16));
  all[1]->abort("no more gradients");
  EXPECT_FALSE(all[0]->await_settled(kShort)) << "an abort is no end of what is queued";
  all[1]->note_settled();
  EXPECT_TRUE(all[0]->await_settled(kShort));
}

TEST(Communicator, FindsADifferenceToWhoIsFarAheadWhileItWaits) {
  const Communicators all = communicators(2);
  CallNumber call = 0;
  while (call < 3 * ControlBlock::kCalls) call = all[0]->begin(all_reduce(1));
  all[0]->watch(call, [] { return false; });

  all[1]->begin(all_reduce(1));
  all[1]->begin(all_reduce(2));

  EXPECT_THAT(awaited_verdict(*all[1]), HasSubstr("Rank 1 calls allreduce of 2"));
}

TEST(Communicator, NamesWhoLeftBeforeACall) {
  Communicators all = communicators(3);
  all[0]->begin(all_reduce(9));
  all[0]->watch(1, [] { return false; });

  all[2].reset();

  EXPECT_THAT(awaited_verdict(*all[0]),
              AllOf(HasSubstr("Rank 2 has left the communicator before call 1, allreduce"),
                    HasSubstr("closed")));
}

TEST(Communicator, LetsWhoHasDoneItsPartLeave) {
  Communicators all = communicators(2, short_options());
  std::atomic<bool> over{false};
  for (const auto& one : all) one->begin(all_reduce(9));
  all[0]->watch(1, [&] { return over.load(); });

  all[1].reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  over = true;

  EXPECT_NO_THROW(all[0]->check());
}

TEST(Communicator, IsOfNoUseOnceItIsClosed) {
  const Communicators all = communicators(2);

  all[0]->close();
  all[0]->close();

  test::expect_invalid_argument([&] { all[0]->begin(all_reduce(1)); }, "closed");
  EXPECT_NO_THROW(all[1]->begin(all_reduce(1)));
}

TEST(Communicator, ClosesWithCallsUnderWay) {
  Communicators all = communicators(2);
  for (const auto& one : all) one->begin(all_reduce(9));
  auto asked = std::make_shared<std::atomic<int>>(0);
  all[0]->watch(1, [asked] { return ++*asked < 0; });
  ASSERT_TRUE(test::soon([&] { return *asked > 0; }));

  all[0].reset();

  EXPECT_EQ(asked.use_count(), 1) << "nobody asks any more";
}

TEST(Communicator, HasNodesAsItIsTold) {
  const Communicators all = communicators(4, {.node = {}, .timeout = kLong}, {"a", "b", "a", "b"});

  EXPECT_EQ(all[3]->nodes().count(), 2);
  EXPECT_THAT(all[3]->nodes().ranks_on(1), ElementsAre(1, 3));
}

TEST(Communicator, ComparesWithinANodeOnly) {
  const Communicators all = communicators(4, {.node = {}, .timeout = kLong}, {"a", "b", "a", "b"});

  all[0]->begin(all_reduce(1));
  EXPECT_NO_THROW(all[1]->begin(all_reduce(2)));
  test::expect_invalid_argument([&] { all[2]->begin(all_reduce(2)); }, "Rank 0 calls", "rank 2");
  EXPECT_NO_THROW(all[1]->check());
}

TEST(Communicator, SaysThatOtherNodesCannotBeSeen) {
  const Communicators all = communicators(2, short_options(), {"a", "b"});
  all[0]->begin(all_reduce(1));
  all[0]->watch(1, [] { return false; });

  EXPECT_THAT(awaited_verdict(*all[0]), HasSubstr("ranks of other nodes cannot be seen"));
}

TEST(Communicator, ExchangesBytes) {
  const Communicators all = communicators(3);

  test::expect_no_errors(test::in_threads(3, [&](int rank) {
    EXPECT_THAT(all[static_cast<std::size_t>(rank)]->all_gather(
                    std::string(1, 'a' + static_cast<char>(rank))),
                ElementsAre("a", "b", "c"));
  }));
}

TEST(Communicator, DoesNotWaitForBytesOfWhoHasLeft) {
  Communicators all = communicators(2);
  all[1].reset();

  test::expect_error(
      ErrorCode::communicator, [&] { all[0]->all_gather(""); },
      "Rank 1 has left the communicator before call 1, exchange");
}

TEST(Communicator, DoesNotWaitForBytesOfWhoDoesSomethingElse) {
  const Communicators all = communicators(2);

  const auto errors = test::in_threads(2, [&](int rank) {
    if (rank == 0) all[0]->all_gather("");
    else all[1]->begin(all_reduce(1));
    if (rank == 1) awaited_verdict(*all[1]);
  });

  EXPECT_THAT(errors[0], AllOf(HasSubstr("calls exchange"), HasSubstr("calls allreduce")));
}

// Ranks 0 … 6 by parity, backwards; 6 goes alone.
TEST(Communicator, IsSplit) {
  const Communicators all = communicators(7);

  test::expect_no_errors(test::in_threads(7, [&](int rank) {
    Communicator& whole = *all[static_cast<std::size_t>(rank)];
    const auto part = whole.split(rank == 6 ? -1 : rank % 2, -rank);
    ASSERT_EQ(part == nullptr, rank == 6);
    if (!part) return;
    EXPECT_EQ(part->size(), 3);
    EXPECT_EQ(part->rank(), 2 - rank / 2);
    EXPECT_NE(part->id(), whole.id());
    EXPECT_EQ(part->begin(all_reduce(static_cast<std::uint64_t>(rank % 2))), 1U);
    const auto alone = part->split(part->rank(), 0);
    EXPECT_EQ(alone->size(), 1);
    part->all_gather("");  // no rank leaves before all have compared
  }));

  for (const auto& one : all) EXPECT_EQ(one->begin(all_reduce(1)), 2U);
}

TEST(Communicator, IsSplitByAllOrByNobody) {
  const Communicators all = communicators(2);

  const auto errors = test::in_threads(2, [&](int rank) {
    if (rank == 0) all[0]->split(0, 0);
    else all[1]->all_gather("");
  });

  for (const std::string& error : errors)
    EXPECT_THAT(error, AllOf(HasSubstr("calls split"), HasSubstr("calls exchange")));
}

TEST(Communicator, OfAForkedChildIsRefusedAndDoesNoHarm) {
  Communicators all = communicators(2);
  all[0]->begin(all_reduce(1));
  std::atomic<bool> over{false};
  all[0]->watch(1, [&] { return over.load(); });

  EXPECT_EQ(test::exit_status_of([&] {
              try {
                all[0]->begin(all_reduce(1));
                return 1;
              } catch (const Error& error) {
                all.clear();
                const std::string why = error.what();
                return why.find("forked") == std::string::npos ? 2 : 0;
              }
            }),
            0);

  EXPECT_NO_THROW(all[1]->begin(all_reduce(1)));
  over = true;
  EXPECT_NO_THROW(all[0]->begin(all_reduce(2)));
}

TEST(Communicator, CanBeMadeInAForkedChild) {
  if (test::kSanitized) GTEST_SKIP() << "a sanitizer's threads do not survive a fork";
  const Communicators here = communicators(2);
  here[0]->begin(all_reduce(1));
  here[0]->watch(1, [] { return false; });

  EXPECT_EQ(test::exit_status_of([] {
              const Communicators there = communicators(2, short_options());
              there[0]->begin(all_reduce(1));
              there[0]->watch(1, [] { return false; });
              const std::string why = awaited_verdict(*there[0]);
              return why.find("rank 1 did not come") == std::string::npos ? 1 : 0;
            }),
            0);
}

TEST(CommunicatorOptions, AreThoseOfTheSettings) {
  Settings settings;
  settings.communicator_timeout = 1.5;

  EXPECT_EQ(communicator_options(settings).timeout, Seconds{1.5});
  EXPECT_EQ(CommunicatorOptions{}.timeout, Seconds{Settings{}.communicator_timeout});
}

}  // namespace
}  // namespace polypath::test::communicator_test
