// Ranks that are processes of their own, which may be killed at any time.

#include "support/processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <utility>

#include "communicator/bootstrap/sockets.h"
#include "communicator/communicator.h"
#include "communicator/node/control_block_sharing.h"
#include "communicator/together.h"

namespace polypath::test::processes_test {
namespace {

using test::all_reduce;
using test::awaited_verdict;
using test::Folder;
using test::kLong;

constexpr int kDead = 128 + SIGKILL;

const CommunicatorOptions kOptions{.node = {}, .timeout = kLong};

// Runs `work(rank)` in a process for each rank, in which SIGALRM ends what hangs; what each ended
// with: what it returned, 128 and its signal, or 99 for an error, whose message it prints.
template <class Work>
std::vector<int> in_processes(int ranks, Work work) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(50);
      try {
        _exit(work(rank));
      } catch (const std::exception& error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
        _exit(99);
      }
    }
    children.push_back(child);
  }
  std::vector<int> statuses;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    statuses.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  return statuses;
}

std::unique_ptr<Communicator> meet(const Folder& folder, int rank, int ranks) {
  return std::make_unique<Communicator>(
      bootstrap_by_file(folder.path() + "/ranks", rank, ranks, kLong), kOptions);
}

// 0 if the verdict of a communicator has both parts, else 3.
int expect_verdict(Communicator& communicator, const std::string& part, const std::string& other) {
  const std::string why = awaited_verdict(communicator);
  if (why.find(part) != std::string::npos && why.find(other) != std::string::npos) return 0;
  std::fprintf(stderr, "another verdict: %s\n", why.c_str());
  return 3;
}

class Processes : public testing::TestWithParam<int> {
 protected:
  // What all ranks end with but the last, which is killed.
  [[nodiscard]] static std::vector<int> last_dies() {
    std::vector<int> statuses(static_cast<std::size_t>(GetParam()), 0);
    statuses.back() = kDead;
    return statuses;
  }
  [[nodiscard]] static bool is_last(int rank) { return rank == GetParam() - 1; }
  [[nodiscard]] static std::string last() { return "Rank " + std::to_string(GetParam() - 1); }

  Folder folder;
};

INSTANTIATE_TEST_SUITE_P(Ranks, Processes, testing::Values(2, 3, 5, 7, 8));

TEST_P(Processes, CallTheSameAndLeaveNothingBehind) {
  const auto statuses = in_processes(GetParam(), [&](int rank) {
    const auto mine = meet(folder, rank, GetParam());
    for (std::uint64_t count = 1; count <= 3000; ++count) mine->begin(all_reduce(count));
    mine->all_gather("");
    return 0;
  });

  EXPECT_EQ(statuses, std::vector<int>(static_cast<std::size_t>(GetParam()), 0));
  EXPECT_TRUE(folder.is_empty());
}

// The last rank makes another call; all of them are told, the ranks that had gone on too.
TEST_P(Processes, AreToldWhoDiffers) {
  const auto statuses = in_processes(GetParam(), [&](int rank) {
    const auto mine = meet(folder, rank, GetParam());
    try {
      mine->begin(all_reduce(is_last(rank) ? 2 : 1));
    } catch (const Error&) {
    }
    return expect_verdict(*mine, "allreduce of 1 float32", "allreduce of 2 float32");
  });

  EXPECT_EQ(statuses, std::vector<int>(static_cast<std::size_t>(GetParam()), 0));
}

TEST_P(Processes, NameARankThatWasKilledBeforeACall) {
  const auto statuses = in_processes(GetParam(), [&](int rank) {
    const auto mine = meet(folder, rank, GetParam());
    if (is_last(rank)) raise(SIGKILL);
    try {
      mine->watch(mine->begin(all_reduce(9)), [] { return false; });
    } catch (const Error&) {  // another rank has found out before
    }
    return expect_verdict(*mine, last() + " has ended before call 1, allreduce of 9", "is gone");
  });

  EXPECT_EQ(statuses, last_dies());
}

TEST_P(Processes, NameARankThatWasKilledInACall) {
  const auto statuses = in_processes(GetParam(), [&](int rank) {
    const auto mine = meet(folder, rank, GetParam());
    mine->watch(mine->begin(all_reduce(9)), [] { return false; });
    mine->all_gather("");
    if (is_last(rank)) raise(SIGKILL);
    return expect_verdict(*mine, last() + " has ended in call", "is gone");
  });

  EXPECT_EQ(statuses, last_dies());
}

// A rank that waits for all ranks need not wait for one that was killed.
TEST_P(Processes, DoNotWaitToExchangeWithARankThatWasKilled) {
  const auto statuses = in_processes(GetParam(), [&](int rank) {
    const auto mine = meet(folder, rank, GetParam());
    if (is_last(rank)) raise(SIGKILL);
    try {
      mine->split(0, 0);
      return 1;
    } catch (const Error&) {
      return expect_verdict(*mine, last() + " has ended before call 1, split", "is gone");
    }
  });

  EXPECT_EQ(statuses, last_dies());
}

TEST_P(Processes, MeetByAddressAndSplit) {
  const std::string address =
      SocketAddress{"localhost", own_address(listen_at({"localhost", "0"})).port}.text();

  const auto statuses = in_processes(GetParam(), [&](int rank) {
    Communicator whole(bootstrap_by_address(address, rank, GetParam(), kLong), kOptions);
    const auto part = whole.split(rank % 2, 0);
    const auto blobs = part->all_gather(std::to_string(rank));
    for (const Blob& blob : blobs)
      if (std::stoi(blob) % 2 != rank % 2) return 1;
    whole.all_gather("");
    return 0;
  });

  EXPECT_EQ(statuses, std::vector<int>(static_cast<std::size_t>(GetParam()), 0));
}

// Rank 2 never opens the block that rank 0 has made; or rank 0, which has told its name, does not
// live to take it away.
class Joining : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Killed, Joining, testing::Values(0, 2));

TEST_P(Joining, LeavesNothingWithANameWhereARankIsKilled) {
  const Folder folder;
  const auto before = test::named_blocks();

  auto statuses = in_processes(3, [&](int rank) {
    auto bootstrap = bootstrap_by_file(folder.path() + "/ranks", rank, 3, kLong);
    if (rank == GetParam()) {
      const Agreement agreement = agree(*bootstrap, this_node(), kLong);
      const NamedMemory memory = NamedMemory::create(ControlBlock::bytes_for(3));
      bootstrap->all_gather(rank == 0 ? memory.name() : "", kLong);
      if (rank != 0) NamedMemory::remove_name(memory.name());
      raise(SIGKILL);
    }
    try {
      Communicator mine(std::move(bootstrap), {.node = {}, .timeout = Seconds{1.0}});
      return 1;
    } catch (const Error& error) {
      const std::string who = "rank " + std::to_string(GetParam()) + " did not come in time";
      return std::string(error.what()).find(who) == std::string::npos ? 2 : 0;
    }
  });

  EXPECT_EQ(std::exchange(statuses[static_cast<std::size_t>(GetParam())], 0), kDead);
  EXPECT_EQ(statuses, (std::vector<int>{0, 0, 0}));
  EXPECT_TRUE(test::nothing_new_has_a_name(before));
}

// In a namespace of its own a process cannot even be named by its number.
TEST(Process, OfAnotherNamespaceIsSeenToEnd) {
  const Folder folder;
  const auto enter = [] { return test::processes::enter_namespaces(CLONE_NEWPID) ? 0 : 1; };
  if (test::exit_status_of(enter) != 0) GTEST_SKIP() << "the system permits no namespaces";

  const auto statuses = in_processes(2, [&](int rank) {
    if (rank == 1) enter();
    const pid_t inside = rank == 1 ? fork() : 0;
    if (inside != 0) return waitpid(inside, nullptr, 0) == inside ? 0 : 1;
    const auto mine = meet(folder, rank, 2);
    const CallNumber call = mine->begin(all_reduce(9));
    if (rank == 1) _exit(0);  // without a word
    mine->watch(call + 1, [] { return false; });
    return expect_verdict(*mine, "Rank 1 has ended before call 2", "is gone");
  });

  EXPECT_EQ(statuses, (std::vector<int>{0, 0}));
}

}  // namespace
}  // namespace polypath::test::processes_test
