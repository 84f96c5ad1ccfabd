#include "core/file_server.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "support/layers.h"

namespace polypath::test::file_server_test {
namespace {

// A file that contains one word.
Descriptor file_with(std::uint64_t word) {
  Descriptor file(memfd_create("test", MFD_CLOEXEC));
  EXPECT_EQ(write(file.get(), &word, sizeof word), static_cast<ssize_t>(sizeof word));
  return file;
}

std::uint64_t word_in(const Descriptor& file) {
  std::uint64_t word = 0;
  return pread(file.get(), &word, sizeof word, 0) == sizeof word ? word : 0;
}

// Number n has n files; file i contains n + i.
std::vector<Descriptor> files_of(std::uint64_t number) {
  std::vector<Descriptor> files;
  for (std::uint64_t i = 0; i < number; ++i) files.push_back(file_with(number + i));
  return files;
}

TEST(FileServer, HandsOutTheFilesOfANumber) {
  const FileServer server(files_of);
  const std::vector<Descriptor> files = fetch_files(server.name(), 3, 3);
  ASSERT_EQ(files.size(), 3U);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(word_in(files[i]), 3 + i);
}

TEST(FileServer, HandsOutMoreFilesThanAMessageHas) {
  const FileServer server(files_of);
  const std::vector<Descriptor> files = fetch_files(server.name(), 300, 300);
  ASSERT_EQ(files.size(), 300U);
  for (std::uint64_t i = 0; i < 300; ++i) EXPECT_EQ(word_in(files[i]), 300 + i);
}

TEST(FileServer, HandsOutNothingWhereTheNumberOfFilesDiffers) {
  const FileServer server(files_of);
  EXPECT_TRUE(fetch_files(server.name(), 3, 4).empty());
  EXPECT_TRUE(fetch_files(server.name(), 0, 1).empty());
  EXPECT_EQ(fetch_files(server.name(), 2, 2).size(), 2U);
}

TEST(FileServer, HandsOutNothingOnceItHasEnded) {
  FileServerName name;
  {
    const FileServer server(files_of);
    name = server.name();
  }
  EXPECT_TRUE(fetch_files(name, 1, 1).empty());
}

TEST(FileServer, AnswersOtherProcesses) {
  const FileServer server(files_of);
  const pid_t child = fork();
  if (child == 0) {
    const std::vector<Descriptor> files = fetch_files(server.name(), 2, 2);
    _exit(files.size() == 2 && word_in(files[1]) == 3 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// As programs do that become daemons.
TEST(FileServer, EndsWhereTheProgramHasClosedItsSocket) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const int next = dup(ends[0]);
  close(next);
  const FileServer server(files_of);
  ASSERT_EQ(dup2(ends[1], next), next);    // the socket's number
  (void)fetch_files(server.name(), 1, 1);  // for this one it may have waited already
  EXPECT_TRUE(fetch_files(server.name(), 1, 1).empty());
  for (const int end : ends) close(end);
}

}  // namespace
}  // namespace polypath::test::file_server_test
