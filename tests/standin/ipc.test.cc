// Device memory in other programs: two real processes, and what happens when one of them goes.

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "standin/peer.h"

namespace polypath::test {
namespace {

const std::string kInvalidValue = "error 1", kInvalidContext = "error 201";
const std::string kNotFound = "error 500";
const std::string kPeerAccessUnsupported = "error 217";

class StandInIpc : public testing::Test {
 protected:
  static void start(Peer& peer, int gpu) {
    ASSERT_EQ(peer.ask("init"), "ok");
    ASSERT_EQ(peer.ask("device " + std::to_string(gpu)), "ok");
  }
  void SetUp() override {
    start(exporter_, 0);
    start(importer_, 1);
  }

  // Device memory of the exporter with known contents.
  std::string exported(int bytes, int seed) {
    const std::string memory = exporter_.ask("alloc " + std::to_string(bytes));
    EXPECT_EQ(exporter_.ask("write " + memory + say(bytes, seed)), "ok");
    return memory;
  }
  static std::string say(int bytes, int seed) {
    return " " + std::to_string(bytes) + " " + std::to_string(seed);
  }
  static std::string after(const std::string& address, int offset) {
    return std::to_string(std::stoull(address) + static_cast<unsigned long long>(offset));
  }
  static bool holds(Peer& peer, const std::string& memory, int bytes, int seed) {
    return peer.ask("check " + memory + say(bytes, seed)) == "same";
  }

  Peer exporter_, importer_;
};

TEST_F(StandInIpc, BothProgramsSeeTheSameBytes) {
  const std::string memory = exported(100003, 1);
  const std::string mapped = importer_.ask("open " + exporter_.ask("export " + memory));

  EXPECT_TRUE(holds(importer_, mapped, 100003, 1));
  EXPECT_EQ(importer_.ask("write " + mapped + say(100003, 2)), "ok");
  EXPECT_TRUE(holds(exporter_, memory, 100003, 2));
  EXPECT_EQ(importer_.ask("close " + mapped), "ok");
}

TEST_F(StandInIpc, CopiesGoBothWaysThroughTheMapping) {
  const std::string memory = exported(1 << 20, 1);
  const std::string mapped = importer_.ask("open " + exporter_.ask("export " + memory));
  const std::string own = importer_.ask("alloc 1048576");

  EXPECT_EQ(importer_.ask("copy " + own + " " + mapped + " 1048576"), "ok");
  EXPECT_TRUE(holds(importer_, own, 1 << 20, 1));
  EXPECT_EQ(importer_.ask("write " + own + say(1 << 20, 2)), "ok");
  EXPECT_EQ(importer_.ask("copy " + after(mapped, 13) + " " + own + " 1000"), "ok");

  EXPECT_TRUE(holds(exporter_, after(memory, 13), 1000, 2));
  EXPECT_FALSE(holds(exporter_, after(memory, 13), 1001, 2));
}

// The simulated copies go over the hop between the owner's GPU and the other end.
TEST_F(StandInIpc, CopiesOfAMappingUseTheOwnersGpu) {
  Peer counting({"STANDIN_STATISTICS=1"});
  start(counting, 3);
  const std::string mapped = counting.ask("open " + exporter_.ask("export " + exported(4096, 1)));
  const std::string own = counting.ask("alloc 4096");

  EXPECT_EQ(counting.ask("copy " + own + " " + mapped + " 4096"), "ok");
  EXPECT_EQ(counting.quit(), 0);

  EXPECT_NE(counting.complaints().find("gpu0 to gpu3 copies 1 bytes 4096"), std::string::npos);
}

TEST_F(StandInIpc, AMappingNamesTheImportersGpuAndTheWholeAllocation) {
  const std::string memory = exported(5000, 1);
  const std::string mapped = importer_.ask("open " + exporter_.ask("export " + after(memory, 77)));

  EXPECT_EQ(importer_.ask("ordinal " + mapped), "1");
  EXPECT_EQ(importer_.ask("size " + after(mapped, 4999)), "5000");
  EXPECT_EQ(importer_.ask("device 2"), "ok");
  EXPECT_EQ(importer_.ask("size " + mapped), kNotFound);
  EXPECT_TRUE(holds(importer_, mapped, 5000, 1));
}

TEST_F(StandInIpc, TheHostCannotTouchAMapping) {
  const std::string mapped = importer_.ask("open " + exporter_.ask("export " + exported(4096, 1)));

  EXPECT_EQ(importer_.ask("touch " + mapped), "");
  EXPECT_EQ(importer_.quit(), -SIGSEGV);
}

// One mapping per context, counted; the same address for the same context.
TEST_F(StandInIpc, EachContextHasAMappingOfItsOwn) {
  const std::string handle = exporter_.ask("export " + exported(4096, 1));

  const std::string first = importer_.ask("open " + handle);
  EXPECT_EQ(importer_.ask("open " + handle), first);
  EXPECT_EQ(importer_.ask("device 2"), "ok");
  const std::string second = importer_.ask("open " + handle);

  EXPECT_NE(second, first);
  EXPECT_EQ(importer_.ask("ordinal " + first), "1");
  EXPECT_EQ(importer_.ask("ordinal " + second), "2");
  EXPECT_EQ(importer_.ask("write " + second + say(4096, 7)), "ok");
  EXPECT_TRUE(holds(importer_, first, 4096, 7));
  EXPECT_EQ(importer_.ask("close " + second), "ok");
  EXPECT_EQ(importer_.ask("close " + first), "ok");
  EXPECT_TRUE(holds(importer_, first, 4096, 7));  // opened twice, closed once
  EXPECT_EQ(importer_.ask("close " + first), "ok");
  EXPECT_EQ(importer_.ask("close " + first), kInvalidValue);
  EXPECT_EQ(importer_.ask("check " + first + say(4096, 7)), kInvalidValue);
}

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
  EXPECT_EQ(importer_.quit(), 0);
}

TEST_F(StandInIpc, AnImportersEndLeavesTheMemoryAlone) {
  const std::string memory = exported(4096, 1);
  importer_.ask("open " + exporter_.ask("export " + memory));

  importer_.kill();

  EXPECT_TRUE(holds(exporter_, memory, 4096, 1));
  EXPECT_EQ(exporter_.quit(), 0);
}

TEST_F(StandInIpc, NothingIsLeftBehind) {
  const auto files = [] {
    const std::filesystem::directory_iterator folder("/dev/shm");
    return std::count_if(begin(folder), end(folder), [](const auto& entry) {
      return entry.path().filename().string().find("standin") != std::string::npos;
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

TEST_F(StandInIpc, TheOwnersGpuMayBeHidden) {
  Peer hiding({"CUDA_VISIBLE_DEVICES=2"});
  start(hiding, 0);

  const std::string mapped = hiding.ask("open " + exporter_.ask("export " + exported(4096, 1)));

  EXPECT_TRUE(holds(hiding, mapped, 4096, 1));
  EXPECT_EQ(hiding.ask("ordinal " + mapped), "0");
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
}  // namespace polypath::test
