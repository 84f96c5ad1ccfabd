// The registry of exported memory where memory is full, and where the program does what it likes
// with descriptors and folders.

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "api/preload/ipc_registry.h"
#include "support/processes.h"

namespace polypath::preload::ipc_registry_faults_test {
namespace {

namespace fs = std::filesystem;
using test::exit_status_beside;
using test::exit_status_of;

ExportedMemory memory(unsigned char name) {
  ExportedMemory made;
  made.handle.bytes.fill(name);
  made.exporter = this_process().value();
  made.base = 0x7f0000000000;
  made.size = 64_MiB;
  made.generation = 42;
  return made;
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

class RegistryFaults : public testing::Test {
 protected:
  RegistryFaults() { fs::create_directory(parent_); }
  ~RegistryFaults() override { fs::remove_all(parent_); }

  fs::path parent_ =
      fs::temp_directory_path() / ("polypath_registry_faults_" + std::to_string(getpid()));
  fs::path folder_ = parent_ / "registry";
};

TEST_F(RegistryFaults, WhereThereIsNoRoomNothingIsPublishedAndNothingLost) {
  const auto status = exit_status_beside(parent_, 16 * 4096, [&] {
    IpcRegistry registry(folder_);
    if (!registry.publish(memory(1))) return 1;
    test::fill(parent_ / "filler");
    if (registry.publish(memory(2)) || registry.find(memory(2).handle)) return 2;
    if (!registry.find(memory(1).handle)) return 3;
    return files_in(folder_) == 1 ? 0 : 4;
  });
  if (!status) GTEST_SKIP() << "no file systems of one's own here";

  EXPECT_EQ(*status, 0);
}

TEST_F(RegistryFaults, WhereThereIsNoRoomWhatWasSaidOfTheHandleBeforeGoes) {
  const auto status = exit_status_beside(parent_, 16 * 4096, [&] {
    IpcRegistry registry(folder_);
    if (!registry.publish(memory(1))) return 1;
    test::fill(parent_ / "filler");
    ExportedMemory later = memory(1);
    ++later.generation;
    return registry.publish(later) || registry.find(later.handle) ? 2 : 0;
  });
  if (!status) GTEST_SKIP() << "no file systems of one's own here";

  EXPECT_EQ(*status, 0);
}

// Room for the file's name, but not for what is in it.
TEST_F(RegistryFaults, WhereFilesMayNotGrowNothingIsPublished) {
  const int status = exit_status_of([&] {
    IpcRegistry registry(folder_);
    const rlimit limit{0, 0};
    setrlimit(RLIMIT_FSIZE, &limit);
    return registry.publish(memory(1)) ? 1 : 0;
  });

  EXPECT_EQ(status, 0);
  EXPECT_EQ(files_in(folder_), 0U);
}

// A program that closes all descriptors and opens a folder of its own, in which there is a file
// that the registry would take for a damaged entry.
TEST_F(RegistryFaults, TheProgramsOwnFolderIsLeftAlone) {
  const fs::path own = parent_ / "of_the_program";
  fs::create_directory(own);
  std::ofstream(own / "00.ipc") << "no entry";
  const int status = exit_status_of([&] {
    IpcRegistry registry(folder_);
    close_range(3, ~0U, 0);
    for (int i = 0; i < 100; ++i) (void)open(own.c_str(), O_RDONLY | O_DIRECTORY);
    (void)registry.sweep();
    if (!registry.publish(memory(1)) || !registry.find(memory(1).handle)) return 1;
    registry.withdraw(memory(1).handle);
    return registry.find(memory(1).handle) ? 2 : 0;
  });

  EXPECT_EQ(status, 0);
  EXPECT_EQ(files_in(own), 1U);
  EXPECT_EQ(files_in(folder_), 0U);
}

TEST_F(RegistryFaults, NoDescriptorStaysOpen) {
  const std::size_t before = files_in("/proc/self/fd");

  IpcRegistry registry(folder_);
  (void)registry.sweep();
  (void)registry.publish(memory(1));
  (void)registry.find(memory(1).handle);
  registry.withdraw(memory(1).handle);

  EXPECT_EQ(files_in("/proc/self/fd"), before);
}

TEST_F(RegistryFaults, AFolderThatHasBeenOpenedToOthersIsUsedNoMore) {
  IpcRegistry registry(folder_);
  registry.publish(memory(1));

  ::chmod(folder_.c_str(), 0755);

  EXPECT_EQ(registry.find(memory(1).handle), std::nullopt);
  EXPECT_FALSE(registry.publish(memory(2)));
}

TEST_F(RegistryFaults, AFolderThatHasBeenRemovedIsMadeAnew) {
  IpcRegistry registry(folder_);
  fs::remove_all(folder_);

  EXPECT_TRUE(registry.publish(memory(1)));

  EXPECT_EQ(registry.find(memory(1).handle), memory(1));
}

// The number in it may be another process's here, and that process may be writing.
TEST_F(RegistryFaults, WhatIsBeingWrittenInAnotherNumberSpaceStays) {
  IpcRegistry registry(folder_);
  const auto space = std::to_string(this_process()->number_space + 1);
  std::ofstream(folder_ / ("draft-" + space + "-999999999-0")) << "not finished";

  EXPECT_EQ(registry.sweep(), 0);

  EXPECT_EQ(files_in(folder_), 1U);
}

}  // namespace
}  // namespace polypath::preload::ipc_registry_faults_test
