// The ledger's table does no harm: its file, other processes and this one's descriptors may go or
// change, and a process neither stops nor dies of it, and none loses its slot alive.

#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "engine/ledger_fixture.h"
#include "support/layers.h"

namespace polypath::test::ledger_table_test {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;
using testing::SizeIs;

class LedgerTableTest : public LedgerFixture {
 protected:
  // The one file in the folder, once it has been made.
  [[nodiscard]] fs::path file() const { return fs::directory_iterator(folder_)->path(); }
  [[nodiscard]] int descriptor() const { return ::open(file().c_str(), O_RDWR | O_CLOEXEC); }
  // 0 if a ledger can be opened, 1 if it says why not.
  int open_once() { return NodeLedger(folder_, machine_, names()).problem().empty() ? 0 : 1; }
  // Of shared memory that this process has made: other tests make some meanwhile.
  static long segments_of(pid_t process) {
    std::ifstream table("/proc/sysvipc/shm");
    long found = 0;
    std::string key, shmid, perms, size, creator, rest;
    while (table >> key >> shmid >> perms >> size >> creator && std::getline(table, rest))
      found += creator == std::to_string(process) ? 1 : 0;
    return found;
  }
};

TEST_F(LedgerTableTest, AStoppedProcessThatHoldsTheFileHoldsUpNobody) {
  (void)open_ledger();
  Child other([&] { flock(descriptor(), LOCK_EX); });
  other.stop();

  EXPECT_EQ(exit_status_of([&] { return open_once(); }), 0);
}

TEST_F(LedgerTableTest, WhereAllSlotsAreHeldThereIsNoLedger) {
  (void)open_ledger();
  const int held = descriptor();
  struct flock all {};
  all.l_type = F_WRLCK;
  ASSERT_EQ(fcntl(held, F_OFD_SETLK, &all), 0);

  EXPECT_EQ(exit_status_of([&] { return open_once(); }), 1);
  close(held);
}

TEST_F(LedgerTableTest, WhereThereIsNoRoomThereIsNoLedger) {
  fs::create_directory(folder_);
  const auto status = exit_status_beside(folder_, 16 * 4096, [&] {
    folder_ += "/own";
    fill(folder_ + "-filler");
    return open_once();
  });
  if (!status) GTEST_SKIP() << "no file systems of one's own here";

  EXPECT_EQ(*status, 1);
}

TEST_F(LedgerTableTest, TheProcessesThatHaveOneNeedNoMoreRoom) {
  fs::create_directory(folder_);
  const auto status = exit_status_beside(folder_, 16 * 4096, [&] {
    folder_ += "/own";
    const auto mine = open_ledger();
    fill(folder_ + "-filler");
    const auto theirs = open_ledger();
    theirs->publish({running(*theirs)});
    return mine->others().size() == 1 ? 0 : 1;
  });
  if (!status) GTEST_SKIP() << "no file systems of one's own here";

  EXPECT_EQ(*status, 0);
}

TEST_F(LedgerTableTest, WhoeverCutsTheFileShortTakesNothingFromTheProcessesThatHaveIt) {
  const int status = exit_status_of([&] {
    const auto mine = open_ledger(), theirs = open_ledger();
    fs::resize_file(file(), 0);
    theirs->publish({running(*theirs)});
    return static_cast<int>(mine->others().size());
  });

  EXPECT_EQ(status, 1);
}

TEST_F(LedgerTableTest, AfterACutTheNextProcessesShareAnother) {
  const auto before = open_ledger();
  fs::resize_file(file(), 0);
  const auto mine = open_ledger(), theirs = open_ledger();

  theirs->publish({running(*theirs)});

  EXPECT_THAT(mine->others(), SizeIs(1));
  EXPECT_THAT(before->others(), IsEmpty());
}

// The file's word is not believed: what is attached must be ours.
TEST_F(LedgerTableTest, AFileWithOtherContentIsWrittenAnew) {
  (void)open_ledger();
  fs::resize_file(file(), 0);
  std::ofstream(file()) << std::string(1000, 'x');
  const auto mine = open_ledger(), theirs = open_ledger();

  theirs->publish({running(*theirs)});

  EXPECT_THAT(mine->others(), SizeIs(1));
}

TEST_F(LedgerTableTest, NoMemoryIsLeftByProcessesThatWereKilled) {
  Child other([&] { new NodeLedger(folder_, machine_, names()); });
  const pid_t process = other.process();
  EXPECT_EQ(segments_of(process), 1);

  other.end();

  EXPECT_EQ(segments_of(process), 0);
}

// Processes that have it go on, and so do those that make another one, apart from each other.
TEST_F(LedgerTableTest, ARemovedTableIsStillItsProcesses) {
  const auto mine = open_ledger(), theirs = open_ledger();
  theirs->publish({running(*theirs, 3600)});
  fs::remove(file());

  const auto another = open_ledger();

  EXPECT_THAT(mine->others(kMuchLater), SizeIs(1));
  EXPECT_THAT(another->others(kMuchLater), IsEmpty());
}

// Programs that may write no large files are ended by a signal where they do.
TEST_F(LedgerTableTest, WhereFilesMayNotGrowThereIsNoLedger) {
  const int status = exit_status_of([&] {
    const rlimit limit{10, 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    return open_once();
  });

  EXPECT_EQ(status, 1);
}

// Whose number means nothing here, or means another process.
TEST_F(LedgerTableTest, AProcessOfAnotherNumberSpaceKeepsItsSlot) {
  Child other(
      [&] {
        auto* theirs = new NodeLedger(folder_, machine_, names());
        theirs->publish({running(*theirs, 3600)});
      },
      Numbers::own);
  if (!other.worked()) GTEST_SKIP() << "no number spaces of one's own here";

  const auto mine = open_ledger(), another = open_ledger();
  EXPECT_THAT(mine->others(kMuchLater), SizeIs(1));

  other.end();
  EXPECT_THAT(mine->others(kMuchLater), IsEmpty());
}

// And opens files of its own, whose numbers then are those that others had.
TEST_F(LedgerTableTest, AProgramMayCloseAllDescriptors) {
  const std::string own_file = folder_ + "-program";
  const int status = exit_status_of([&] {
    const auto theirs = open_ledger();
    close_range(3, ~0U, 0);
    for (int i = 0; i < 100; ++i) (void)::open(own_file.c_str(), O_RDWR | O_CREAT, 0600);
    theirs->publish({running(*theirs, 3600)});
    if (!theirs->others().empty()) return 3;
    return exit_status_of([&] { return open_ledger()->others(kMuchLater).size() == 1 ? 0 : 1; });
  });

  EXPECT_EQ(status, 0);
  EXPECT_EQ(fs::file_size(own_file), 0U);
  fs::remove(own_file);
}

TEST_F(LedgerTableTest, NoDescriptorStaysOpen) {
  const auto open_files = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = open_files();

  const auto mine = open_ledger(), theirs = open_ledger();
  theirs->publish({running(*theirs, 3600)});
  (void)mine->others(kMuchLater);

  EXPECT_EQ(open_files(), before);
}

// The child lives on, and has never used the ledger.
TEST_F(LedgerTableTest, AForkedChildDoesNotHoldItsParentsSlot) {
  const auto mine = open_ledger();
  int life[2];
  ASSERT_EQ(pipe2(life, O_CLOEXEC), 0);
  Child other([&] {
    close(life[1]);
    auto* theirs = new NodeLedger(folder_, machine_, names());
    theirs->publish({running(*theirs, 3600)});
    if (fork() != 0) return;
    char nothing = 0;
    (void)!read(life[0], &nothing, 1);
    _exit(0);
  });
  EXPECT_THAT(mine->others(kMuchLater), SizeIs(1));

  other.end();

  EXPECT_THAT(mine->others(kMuchLater), IsEmpty());
  close(life[0]), close(life[1]);
}

}  // namespace
}  // namespace polypath::test::ledger_table_test
