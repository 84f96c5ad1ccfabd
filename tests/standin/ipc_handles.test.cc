// Handles of device memory that lead nowhere: of memory or programs that are gone, damaged, or out
// of reach; and what is left when a program ends.

#include <algorithm>
#include <filesystem>

#include "standin/ipc_programs.h"
#include "support/layers.h"

namespace polypath::test::ipc_handles_test {
namespace {

TEST_F(StandInIpc, AProgramCannotOpenItsOwnHandle) {
  const std::string handle = exporter_.ask("export " + exported(4096, 1));

  EXPECT_EQ(exporter_.ask("open " + handle), kInvalidContext);
}

TEST_F(StandInIpc, AHandleIsTheSameAsLongAsItsMemoryAndNoLonger) {
  const std::string memory = exported(4096, 1);
  const std::string handle = exporter_.ask("export " + memory);

  EXPECT_EQ(exporter_.ask("export " + after(memory, 8)), handle);
  EXPECT_EQ(exporter_.ask("free " + memory), "ok");
  const std::string again = exported(4096, 2);
  EXPECT_NE(exporter_.ask("export " + again), handle);
}

// The most dangerous of all: address, size and descriptor are the same again.
TEST_F(StandInIpc, AStaleHandleNeverLeadsToWhatTookItsPlace) {
  for (int round = 0; round < 20; ++round) {
    const std::string memory = exported(4096, 1);
    const std::string stale = exporter_.ask("export " + memory);
    EXPECT_EQ(exporter_.ask("free " + memory), "ok");
    const std::string next = exported(4096, 2);

    EXPECT_EQ(importer_.ask("open " + stale), kInvalidValue);
    EXPECT_EQ(exporter_.ask("free " + next), "ok");
  }
}

TEST_F(StandInIpc, AnOpenMappingKeepsTheOldBytes) {
  const std::string memory = exported(4096, 1);
  const std::string handle = exporter_.ask("export " + memory);
  const std::string mapped = importer_.ask("open " + handle);

  EXPECT_EQ(exporter_.ask("free " + memory), "ok");
  const std::string next = exported(4096, 2);
  EXPECT_EQ(next, memory);  // which is what makes it dangerous
  EXPECT_TRUE(holds(importer_, mapped, 4096, 1));
  EXPECT_EQ(importer_.ask("write " + mapped + say(4096, 3)), "ok");
  EXPECT_EQ(importer_.ask("open " + handle), mapped);

  EXPECT_TRUE(holds(exporter_, next, 4096, 2));
}

TEST_F(StandInIpc, MemoryOutlivesAKilledExporterOnlyWhereItIsMapped) {
  const std::string memory = exported(4096, 1);
  const std::string mapped = importer_.ask("open " + exporter_.ask("export " + memory));
  const std::string unopened = exporter_.ask("export " + exported(4096, 2));

  exporter_.kill();

  EXPECT_TRUE(holds(importer_, mapped, 4096, 1));
  EXPECT_EQ(importer_.ask("open " + unopened), kInvalidValue);
  EXPECT_EQ(importer_.ask("close " + mapped), "ok");
  EXPECT_EQ(importer_.quit(), 0) << importer_.complaints();
}

TEST_F(StandInIpc, AnImportersEndLeavesTheMemoryAlone) {
  const std::string memory = exported(4096, 1);
  importer_.ask("open " + exporter_.ask("export " + memory));

  importer_.kill();

  EXPECT_TRUE(holds(exporter_, memory, 4096, 1));
  EXPECT_EQ(exporter_.quit(), 0) << exporter_.complaints();
}

// Memory of GPUs never has a name in /dev/shm. (Those of the stand-in for NCCL are of other tests
// that run meanwhile.)
TEST_F(StandInIpc, NothingIsLeftBehind) {
  const auto files = [] {
    const std::filesystem::directory_iterator folder("/dev/shm");
    return std::count_if(begin(folder), end(folder), [](const auto& entry) {
      const std::string name = entry.path().filename().string();
      return name.starts_with("standin-") && !name.starts_with("standin-nccl-");
    });
  };
  exported(4096, 1);

  EXPECT_EQ(files(), 0);
  exporter_.kill();
  EXPECT_EQ(files(), 0);
}

TEST_F(StandInIpc, WhatIsNoHandleIsRefused) {
  EXPECT_EQ(importer_.ask("open " + std::string(128, '0')), kInvalidValue);
  EXPECT_EQ(exporter_.ask("export 4096"), kInvalidValue);
  const std::string mapped = importer_.ask("open " + exporter_.ask("export " + exported(4096, 1)));
  EXPECT_EQ(importer_.ask("export " + mapped), kInvalidValue);
  EXPECT_EQ(importer_.ask("free " + mapped), kInvalidValue);
}

// A damaged handle must name nothing, whatever bit of it is wrong.
TEST_F(StandInIpc, DamagedHandlesAreRefused) {
  const std::string handle = exporter_.ask("export " + exported(4096, 1));
  int opened = 0;

  for (std::size_t digit = 0; digit < handle.size(); ++digit) {
    std::string damaged = handle;
    damaged[digit] = damaged[digit] == '0' ? '1' : '0';
    const std::string answer = importer_.ask("open " + damaged);
    if (answer.rfind("error", 0) != 0) ++opened;
  }

  EXPECT_EQ(opened, 0);
}

TEST_F(StandInIpc, GpusThatCannotReachEachOtherShareNothing) {
  Peer one({"STANDIN_MACHINE=nop2p4"}), other({"STANDIN_MACHINE=nop2p4"});
  start(one, 0);
  start(other, 1);
  const std::string handle = one.ask("export " + one.ask("alloc 4096"));

  EXPECT_EQ(other.ask("open " + handle), kPeerAccessUnsupported);
  EXPECT_EQ(other.ask("device 0"), "ok");
  EXPECT_NE(other.ask("open " + handle), kPeerAccessUnsupported);
}

}  // namespace
}  // namespace polypath::test::ipc_handles_test
