// Pages that processes share, by real processes.

#include "core/shared_pages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "core/error.h"
#include "support/layers.h"

namespace polypath::test::shared_pages_test {
namespace {

constexpr Bytes kPages{3 * 4096};

unsigned char* bytes_of(const SharedPages& pages) {
  return static_cast<unsigned char*>(pages.begin());
}

// A process that makes pages, says their name, waits for a word, and ends with 0.
class Owner {
 public:
  Owner() {
    if (pipe2(names_, O_CLOEXEC) != 0 || pipe2(words_, O_CLOEXEC) != 0) std::abort();
    child_ = fork();
    if (child_ == 0) be_owner();
    if (::read(names_[0], &name_, sizeof name_) != sizeof name_) std::abort();
  }
  ~Owner() { end(); }

  [[nodiscard]] const SharedPages::Name& name() const { return name_; }
  /// What it finds in its pages' last byte before it ends.
  int end() {
    if (child_ <= 0) return -1;
    if (write(words_[1], "", 1) != 1) std::abort();
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = 0;
    return WEXITSTATUS(status);
  }

 private:
  [[noreturn]] void be_owner() const {
    const auto pages = SharedPages::make(kPages);
    std::memset(pages->begin(), 7, kPages.value);
    char word = 0;
    if (write(names_[1], &pages->name(), sizeof name_) != sizeof name_) _exit(255);
    if (::read(words_[0], &word, 1) != 1) _exit(254);
    _exit(bytes_of(*pages)[kPages.value - 1]);
  }

  int names_[2] = {}, words_[2] = {};
  pid_t child_ = 0;
  SharedPages::Name name_;
};

TEST(SharedPages, AreTheSameBytesInBothProcesses) {
  Owner owner;
  const auto pages = SharedPages::open(owner.name());

  EXPECT_EQ(bytes_of(*pages)[0], 7);
  EXPECT_EQ(bytes_of(*pages)[kPages.value - 1], 7);
  bytes_of(*pages)[kPages.value - 1] = 9;

  EXPECT_EQ(owner.end(), 9);
  EXPECT_EQ(bytes_of(*pages)[0], 7) << "they outlive the process that has made them";
}

TEST(SharedPages, AreZerosAtFirst) {
  const auto pages = SharedPages::make(kPages);

  for (std::uint64_t at = 0; at < kPages.value; ++at) ASSERT_EQ(bytes_of(*pages)[at], 0);
}

std::string problem_with(const SharedPages::Name& name) {
  try {
    (void)SharedPages::open(name);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::driver);
    return error.what();
  }
  return {};
}

TEST(SharedPages, OfAProcessThatHasEndedAreAnErrorThatSaysSo) {
  Owner owner;
  owner.end();

  EXPECT_NE(problem_with(owner.name()).find("has ended"), std::string::npos);
}

// The number of a file is given again.
TEST(SharedPages, AreNotTakenForOthersWithTheSameNumber) {
  SharedPages::Name freed;
  {
    const auto pages = SharedPages::make(kPages);
    freed = pages->name();
  }
  const auto others = SharedPages::make(kPages);
  ASSERT_EQ(others->name().file, freed.file);

  EXPECT_NE(problem_with(freed).find("has freed it"), std::string::npos);
}

// In a process that may make no files of more than a page, so that nothing is ever taken.
int code_of_too_many() {
  const rlimit page{4096, 4096};
  signal(SIGXFSZ, SIG_IGN);
  if (setrlimit(RLIMIT_FSIZE, &page) != 0) return -1;
  try {
    (void)SharedPages::make({std::uint64_t{1} << 50});
  } catch (const Error& error) {
    return static_cast<int>(error.code());
  }
  return -1;
}

TEST(SharedPages, ThatThereIsNoRoomForAreAnError) {
  const pid_t child = fork();
  if (child == 0) _exit(code_of_too_many());

  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(ErrorCode::out_of_memory));
}

}  // namespace
}  // namespace polypath::test::shared_pages_test
