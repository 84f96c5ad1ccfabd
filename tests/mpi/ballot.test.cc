// The votes of one rank on calls of several nodes, with an MPI that says what the others vote.

#include "mpi/ballot.h"

#include <gtest/gtest.h>

#include "support/layers.h"

namespace polypath::test::mpi_ballot_test {
namespace {

using mpi::Ballot;
using mpi::Buffers;
using mpi::Handle;
using mpi::Library;
using mpi::Result;
using Verdict = Ballot::Verdict;

// What the others vote, how many votes there were, and whether MPI takes them.
int least_of_others = 1, votes = 0;
Result answer = mpi::kSuccess;

Result vote(const void* mine, void* least, int, Handle, Handle, Handle, void*) {
  ++votes;
  const int own = *static_cast<const int*>(mine);
  *static_cast<int*>(least) = own < least_of_others ? own : least_of_others;
  return answer;
}

Result is_over(void*, int* flag, void*) {
  *flag = 1;
  return mpi::kSuccess;
}

class BallotTest : public testing::Test {
 protected:
  BallotTest() {
    least_of_others = 1, votes = 0, answer = mpi::kSuccess;
    library_.real.Iallreduce = vote;
    library_.real.Test = is_over;
  }
  Verdict decide(Buffers mine) {
    return ballot_.decide(mine, [] {});
  }

  Library library_;
  Ballot ballot_{library_, 0};
};

TEST_F(BallotTest, ACallIsOursIfAllRanksPassMemoryOfGpus) {
  EXPECT_EQ(decide(Buffers::ours), Verdict::ours);
  EXPECT_EQ(decide(Buffers::none), Verdict::ours);
}

TEST_F(BallotTest, ACallIsMpisIfAnotherRankPassesMemoryOfTheHost) {
  least_of_others = 0;

  EXPECT_EQ(decide(Buffers::ours), Verdict::mpis);
}

TEST_F(BallotTest, ACallIsMpisIfThisRankPassesMemoryOfTheHost) {
  EXPECT_EQ(decide(Buffers::host), Verdict::mpis);
  EXPECT_EQ(decide(Buffers::device), Verdict::mpis);
}

TEST_F(BallotTest, ACallIsMpisIfMpiRefusesTheVote) {
  answer = 1;

  EXPECT_EQ(decide(Buffers::ours), Verdict::mpis);
}

TEST_F(BallotTest, CallsOnMemoryOfTheHostAreVotedOnEightTimesThenSeldom) {
  for (int call = 0; call < 1000; ++call)
    if (!ballot_.pass_host()) (void)decide(Buffers::host);

  // Polls after 8, 16, 32, ..., 256 calls, then after 512 and 768.
  EXPECT_EQ(votes, 8 + 6 + 2);
}

TEST_F(BallotTest, ACallIsOursAgainAfterThePollThatFindsMemoryOfGpus) {
  for (int call = 0; call < 9; ++call) (void)decide(Buffers::host);

  for (int call = 9; call < 16; ++call) EXPECT_EQ(decide(Buffers::ours), Verdict::quiet) << call;
  EXPECT_EQ(decide(Buffers::ours), Verdict::ours);
}

/// Of calls that must not wait, with votes of others that may be late.
class BallotWithoutWaitingTest : public BallotTest {
 protected:
  BallotWithoutWaitingTest() {
    are_over = true;
    library_.real.Test = [](void*, int* flag, void*) {
      *flag = are_over ? 1 : 0;
      return mpi::kSuccess;
    };
  }
  static inline bool are_over = true;
  Ballot ballot_{library_, 0, Ballot::Polls::from_the_next_on};
};

TEST_F(BallotWithoutWaitingTest, APollHoldsFromTheNextOneOn) {
  for (int call = 0; call < 1000; ++call) EXPECT_TRUE(ballot_.pass_at_once(Buffers::host)) << call;

  // Votes on 16 calls; polls after 8, 16, 32, ..., 256 calls, then after 512 and 768.
  EXPECT_EQ(votes, 16 + 6 + 2);
}

TEST_F(BallotWithoutWaitingTest, ACallIsToWaitOnlyIfThePollBeforeIsNotOver) {
  for (int call = 0; call < 8; ++call) (void)ballot_.pass_at_once(Buffers::host);
  are_over = false;
  for (int call = 8; call < 16; ++call) EXPECT_TRUE(ballot_.pass_at_once(Buffers::host)) << call;

  EXPECT_FALSE(ballot_.pass_at_once(Buffers::host));
  EXPECT_EQ(votes, 16 + 1);
  are_over = true;
  EXPECT_TRUE(ballot_.pass_at_once(Buffers::host));
  EXPECT_EQ(votes, 16 + 2);
}

TEST_F(BallotWithoutWaitingTest, CallsOnMemoryOfGpusAreVotedOnInTheirPlace) {
  EXPECT_TRUE(ballot_.pass_at_once(Buffers::device));

  EXPECT_EQ(ballot_.decide(Buffers::ours, [] {}), Verdict::ours);
  EXPECT_EQ(votes, 2);
}

}  // namespace
}  // namespace polypath::test::mpi_ballot_test
