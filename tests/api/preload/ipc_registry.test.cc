// The registry of exported memory: what is published is found until it is withdrawn.

#include <gmock/gmock.h>
#include <unistd.h>

#include "api/preload/registry.h"

namespace polypath::preload::ipc_registry_test {
namespace {

namespace fs = std::filesystem;

TEST_F(Registry, FindsWhatWasPublished) {
  IpcRegistry exporter(folder_);
  IpcRegistry importer(folder_);

  ASSERT_TRUE(exporter.publish(memory()));

  EXPECT_EQ(importer.find(handle(1)), memory());
  EXPECT_EQ(importer.find(handle(2)), std::nullopt);
}

TEST_F(Registry, IsForThisUserOnly) {
  IpcRegistry registry(folder_);
  ASSERT_TRUE(registry.publish(memory()));

  EXPECT_EQ(fs::status(folder_).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(file(memory())).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Registry, ALaterAllocationTakesTheHandlesPlace) {
  IpcRegistry registry(folder_);
  registry.publish(memory());
  ExportedMemory later = memory();
  later.generation = 43;

  registry.publish(later);

  EXPECT_EQ(registry.find(handle(1)), later);
  EXPECT_EQ(files(), 1U);
}

TEST_F(Registry, WithdrawnIsGone) {
  IpcRegistry registry(folder_);
  registry.publish(memory());

  registry.withdraw(handle(1));

  EXPECT_EQ(registry.find(handle(1)), std::nullopt);
  EXPECT_EQ(files(), 0U);
}

TEST_F(Registry, WithdrawsOnlyItsOwn) {
  IpcRegistry registry(folder_);
  ExportedMemory others = memory();
  others.exporter.number = getppid();
  registry.publish(others);

  registry.withdraw(handle(1));

  EXPECT_EQ(files(), 1U);
}

TEST_F(Registry, SweepsWhatNobodyCanBelieve) {
  IpcRegistry registry(folder_);
  ExportedMemory dead = memory(2);
  ++dead.exporter.start;
  ExportedMemory elsewhere = memory(3);
  ++elsewhere.exporter.number_space;
  registry.publish(memory(1));
  registry.publish(dead);
  registry.publish(elsewhere);
  write(folder_ / "00.ipc", "damaged");
  const auto space = std::to_string(memory().exporter.number_space);
  write(folder_ / ("draft-" + space + "-999999999-0"), "never finished");
  write(folder_ / "somebody.else", "of another kind");

  EXPECT_EQ(registry.sweep(), 3);

  EXPECT_EQ(registry.find(handle(1)), memory(1));
  EXPECT_TRUE(fs::exists(file(elsewhere)));
  EXPECT_TRUE(fs::exists(folder_ / "somebody.else"));
}

TEST_F(Registry, WithoutAFolderNothingIsFound) {
  IpcRegistry registry("");

  EXPECT_FALSE(registry.problem().empty());
  EXPECT_FALSE(registry.publish(memory()));
  EXPECT_EQ(registry.find(handle(1)), std::nullopt);
  EXPECT_EQ(registry.sweep(), 0);
}

}  // namespace
}  // namespace polypath::preload::ipc_registry_test
