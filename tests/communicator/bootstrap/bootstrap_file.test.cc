// What is special about ranks that meet in a folder.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "communicator/bootstrap/bootstrap.h"
#include "communicator/bootstrap/shared_folder.h"
#include "communicator/together.h"
#include "support/errors.h"
#include "support/processes.h"

namespace polypath::test::bootstrap_file_test {
namespace {

using test::expect_no_errors;
using test::Folder;
using test::in_threads;
using test::kLong;
using test::kShort;
using testing::HasSubstr;

void meet(const std::string& folder, int rank, int ranks) {
  const auto mine = bootstrap_by_file(folder, rank, ranks, kLong);
  const auto blobs = mine->all_gather(std::to_string(rank), kLong);
  for (int from = 0; from < ranks; ++from)
    ASSERT_EQ(blobs[static_cast<std::size_t>(from)], std::to_string(from));
}

TEST(FileBootstrap, LeavesNothingBehind) {
  const Folder folder;
  const std::string below = folder.path() + "/new";

  for (int run = 0; run < 3; ++run)
    expect_no_errors(in_threads(3, [&](int rank) { meet(below, rank, 3); }));

  EXPECT_TRUE(folder.is_empty());
}

// An answer and ranks of an earlier run, and one of another size, which never came together.
TEST(FileBootstrap, NeverBelievesFilesOfAnEarlierRun) {
  const Folder folder;
  const std::string run = "00112233445566778899aabbccddeeff";
  make_folder(folder.path() + "/" + run);
  for (int rank = 0; rank < 3; ++rank) {
    leave_file(folder.path() + "/" + run + "/0-" + std::to_string(rank), "");
    leave_file(folder.path() + "/" + run + "/1-" + std::to_string(rank), "stale");
  }
  leave_file(folder.path() + "/run", run + " - nonce1 nonce2");
  leave_file(folder.path() + "/rank-1", "3 nonce1");
  leave_file(folder.path() + "/rank-2", "4 nonce2");

  expect_no_errors(in_threads(3, [&](int rank) { meet(folder.path(), rank, 3); }));

  EXPECT_TRUE(folder.is_empty());
}

TEST(FileBootstrap, MeetsAfterARunThatWasKilled) {
  const Folder folder;
  for (const int killed : {0, 1}) {
    EXPECT_EQ(test::exit_status_of([&] {
                alarm(1);
                bootstrap_by_file(folder.path(), killed, 2, kLong);
                return 0;
              }),
              128 + SIGALRM);

    expect_no_errors(in_threads(2, [&](int rank) { meet(folder.path(), rank, 2); }));
  }
}

TEST(FileBootstrap, NamesWhoNeverCameAndLeavesNothingBehind) {
  const Folder folder;

  const auto errors = in_threads(4, [&](int rank) {
    if (rank != 2) bootstrap_by_file(folder.path(), rank, 4, rank == 0 ? Seconds{0.5} : kLong);
  });

  for (const int rank : {0, 1, 3})
    EXPECT_THAT(errors[static_cast<std::size_t>(rank)], HasSubstr("rank 2 did not come"));
  EXPECT_TRUE(folder.is_empty());
}

TEST(FileBootstrap, NamesRankZeroWhereItIsMissing) {
  const Folder folder;

  test::expect_error(
      ErrorCode::communicator, [&] { bootstrap_by_file(folder.path(), 1, 2, kShort); }, "rank 0",
      folder.path());
}

TEST(FileBootstrap, SaysWhoCountsOtherRanks) {
  const Folder folder;

  const auto errors = in_threads(2, [&](int rank) {
    bootstrap_by_file(folder.path(), rank, rank == 0 ? 2 : 3, Seconds{0.5});
  });

  EXPECT_THAT(errors[0], HasSubstr("rank 1 says that there are 3 ranks, not 2"));
  EXPECT_THAT(errors[1], HasSubstr("rank 0"));
}

TEST(FileBootstrap, FindsARankThatIsThereTwice) {
  const Folder folder;

  const auto errors =
      in_threads(2, [&](int) { bootstrap_by_file(folder.path(), 1, 2, Seconds{1.0}); });

  EXPECT_THAT(errors[0] + errors[1], HasSubstr("Rank 1 is there twice"));
}

// Neither waits nor reads without an end.
TEST(FileBootstrap, RefusesFilesThatNoRankHasLeft) {
  for (const bool is_link : {false, true}) {
    const Folder folder;
    const std::string file = folder.path() + "/run";
    ASSERT_EQ(is_link ? symlink("/dev/zero", file.c_str()) : mkfifo(file.c_str(), 0600), 0);

    test::expect_error(
        ErrorCode::communicator, [&] { bootstrap_by_file(folder.path(), 1, 2, kLong); }, file,
        "no file that a rank has left there");
  }
}

TEST(FileBootstrap, RefusesWhatIsNoFolder) {
  const Folder folder;
  leave_file(folder.path() + "/file", "");

  test::expect_invalid_argument([&] { bootstrap_by_file(folder.path() + "/file", 0, 1, kShort); },
                                "/file");
  test::expect_invalid_argument(
      [&] { bootstrap_by_file(folder.path() + "/no/folder", 0, 1, kShort); }, "/no/folder");
}

}  // namespace
}  // namespace polypath::test::bootstrap_file_test
