// The registry of exported memory: nothing is believed that might not be true.

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/preload/registry.h"

namespace polypath::preload::ipc_registry_trust_test {
namespace {

namespace fs = std::filesystem;

TEST_F(Registry, EveryDamagedByteIsNoticed) {
  IpcRegistry registry(folder_);
  registry.publish(memory());
  const std::string whole = contents(memory());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    write(file(memory()), damaged);
    EXPECT_EQ(registry.find(handle(1)), std::nullopt) << "byte " << i;
  }
}

TEST_F(Registry, EntriesOfAnotherLengthAreNotBelieved) {
  IpcRegistry registry(folder_);
  registry.publish(memory());
  const std::string whole = contents(memory());
  for (const std::string& wrong : {std::string(), whole.substr(0, whole.size() - 1), whole + "x"}) {
    write(file(memory()), wrong);
    EXPECT_EQ(registry.find(handle(1)), std::nullopt) << wrong.size();
  }
}

TEST_F(Registry, AnEntryForAnotherHandleIsNotBelieved) {
  IpcRegistry registry(folder_);
  registry.publish(memory(2));
  fs::rename(file(memory(2)), file(memory(1)));

  EXPECT_EQ(registry.find(handle(1)), std::nullopt);
}

TEST_F(Registry, LinksAreNotFollowed) {
  IpcRegistry registry(folder_);
  registry.publish(memory());
  const fs::path elsewhere = folder_.string() + "_elsewhere";
  fs::rename(file(memory()), elsewhere);
  fs::create_symlink(elsewhere, file(memory()));
  EXPECT_EQ(registry.find(handle(1)), std::nullopt);

  fs::remove(file(memory()));
  fs::create_hard_link(elsewhere, file(memory()));
  EXPECT_EQ(registry.find(handle(1)), std::nullopt);
  fs::remove(elsewhere);
}

TEST_F(Registry, WhatOthersMayWriteIsNotBelieved) {
  IpcRegistry registry(folder_);
  registry.publish(memory());

  ::chmod(file(memory()).c_str(), 0620);

  EXPECT_EQ(registry.find(handle(1)), std::nullopt);
}

TEST_F(Registry, AnotherUsersFileIsNotBelieved) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  IpcRegistry registry(folder_);
  registry.publish(memory());

  ASSERT_EQ(::chown(file(memory()).c_str(), 1, 0), 0);

  EXPECT_EQ(registry.find(handle(1)), std::nullopt);
}

TEST_F(Registry, APipeDoesNotHoldUp) {
  IpcRegistry registry(folder_);
  ASSERT_EQ(::mkfifo(file(memory()).c_str(), 0600), 0);

  EXPECT_EQ(registry.find(handle(1)), std::nullopt);
}

// A process that has ended, and one that lives but has another start time: the number was reused.
TEST_F(Registry, ExportersThatHaveEndedAreNotBelieved) {
  IpcRegistry registry(folder_);
  const pid_t child = fork();
  if (child == 0) {
    ExportedMemory own = memory();
    IpcRegistry(folder_).publish(own);
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(files(), 1U);
  EXPECT_EQ(registry.find(handle(1)), std::nullopt);

  ExportedMemory reused = memory();
  ++reused.exporter.start;
  registry.publish(reused);
  EXPECT_EQ(registry.find(handle(1)), std::nullopt);

  ExportedMemory elsewhere = memory();
  ++elsewhere.exporter.number_space;
  registry.publish(elsewhere);
  EXPECT_EQ(registry.find(handle(1)), std::nullopt);
}

// It has ended, but its exit status has not been asked for yet: /proc still shows it.
TEST_F(Registry, AnExporterThatIsAZombieIsNotBelieved) {
  IpcRegistry registry(folder_);
  const pid_t child = fork();
  if (child == 0) {
    IpcRegistry(folder_).publish(memory());
    _exit(0);
  }
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);

  EXPECT_EQ(registry.find(handle(1)), std::nullopt);

  waitpid(child, nullptr, 0);
}

// The user that made the folder may read and change what is in it.
TEST_F(Registry, RefusesAFolderThatOthersCanOpen) {
  fs::create_directory(folder_);
  ::chmod(folder_.c_str(), 0755);

  IpcRegistry registry(folder_);

  EXPECT_THAT(registry.problem(), testing::HasSubstr("is open to others"));
  EXPECT_FALSE(registry.publish(memory()));
  EXPECT_EQ(files(), 0U);
}

TEST_F(Registry, RefusesAFolderOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  fs::create_directory(folder_);
  ::chmod(folder_.c_str(), 0700);
  ASSERT_EQ(::chown(folder_.c_str(), 1, 0), 0);

  EXPECT_THAT(IpcRegistry(folder_).problem(), testing::HasSubstr("belongs to somebody else"));
}

TEST_F(Registry, RefusesALinkToAFolder) {
  const fs::path elsewhere = folder_.string() + "_elsewhere";
  fs::create_directory(elsewhere);
  fs::permissions(elsewhere, fs::perms::owner_all);
  fs::create_directory_symlink(elsewhere, folder_);

  IpcRegistry registry(folder_);

  EXPECT_THAT(registry.problem(), testing::HasSubstr("cannot be opened"));
  EXPECT_FALSE(registry.publish(memory()));
  EXPECT_TRUE(fs::is_empty(elsewhere));
  fs::remove_all(elsewhere);
}

}  // namespace
}  // namespace polypath::preload::ipc_registry_trust_test
