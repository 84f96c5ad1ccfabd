// What the environment changes in what the driver allows: whose a GPU is, what a context costs, and
// calls that fail on request.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "core/error.h"
#include "standin/facts/planned_failures.h"
#include "standin/peer.h"
#include "support/layers.h"

namespace polypath::test::modes_test {
namespace {

using standin::parse_failures;
using standin::PlannedFailure;

// CUDA_ERROR_DEVICE_UNAVAILABLE, CUDA_ERROR_OUT_OF_MEMORY
const std::string kUnavailable = "error 46", kOutOfMemory = "error 2";

class StandInExclusive : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "standin_test_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::vector<std::string> environment() {
    variable_ = "TMPDIR=" + folder_;
    return {"STANDIN_COMPUTE_MODE=exclusive", variable_};
  }
  std::string folder_, variable_;
};

TEST_F(StandInExclusive, AGpuBelongsToTheProcessThatHasAContextOnIt) {
  Peer owner(environment()), other(environment());
  owner.ask("init");
  other.ask("init");

  EXPECT_EQ(owner.ask("mode 0"), "3");
  EXPECT_EQ(owner.ask("device 0"), "ok");
  EXPECT_EQ(other.ask("device 0"), kUnavailable);
  EXPECT_EQ(other.ask("device 1"), "ok");
  EXPECT_EQ(owner.ask("release 0"), "ok");
  EXPECT_EQ(other.ask("device 0"), "ok");
  EXPECT_EQ(owner.ask("device 0"), kUnavailable);
}

TEST_F(StandInExclusive, OneContextIsAllThereCanBe) {
  Peer owner(environment());
  owner.ask("init");

  EXPECT_EQ(owner.ask("device 0"), "ok");
  EXPECT_EQ(owner.ask("device 0"), "ok");  // the same
  EXPECT_EQ(owner.ask("context 0"), kUnavailable);
  EXPECT_EQ(owner.ask("context 1"), "ok");
}

TEST_F(StandInExclusive, AKilledProcessLetsGo) {
  Peer owner(environment()), other(environment());
  owner.ask("init");
  other.ask("init");
  EXPECT_EQ(owner.ask("device 0"), "ok");

  owner.kill();

  EXPECT_EQ(other.ask("device 0"), "ok");
}

TEST_F(StandInExclusive, OtherwiseGpusAreShared) {
  Peer one, other;
  one.ask("init");
  other.ask("init");

  EXPECT_EQ(one.ask("mode 0"), "0");
  EXPECT_EQ(one.ask("device 0"), "ok");
  EXPECT_EQ(other.ask("device 0"), "ok");
}

TEST(StandInContextMemory, IsTakenOfTheGpuForEachContext) {
  Peer peer({"STANDIN_MEMORY=100M", "STANDIN_CONTEXT_MEMORY=40M"});
  peer.ask("init");

  EXPECT_EQ(peer.ask("device 0"), "ok");
  EXPECT_EQ(peer.ask("room"), std::to_string(60 << 20));
  EXPECT_EQ(peer.ask("alloc " + std::to_string((60 << 20) + 1)), kOutOfMemory);
  EXPECT_EQ(peer.ask("context 0"), "ok");
  EXPECT_EQ(peer.ask("room"), std::to_string(20 << 20));
  EXPECT_EQ(peer.ask("context 0"), kOutOfMemory);
  EXPECT_EQ(peer.ask("release 0"), "ok");
  EXPECT_EQ(peer.ask("context 0"), "ok");
}

TEST(StandInPlannedFailures, AreReadAsWritten) {
  const auto failures = parse_failures("cuMemAlloc:3,cuStreamCreate:2-4:2,cuMemcpyAsync_ptsz:5-:1");

  ASSERT_EQ(failures.size(), 3U);
  EXPECT_EQ(failures[0].function, "cuMemAlloc");
  EXPECT_EQ(failures[0].first, 3U);
  EXPECT_EQ(failures[0].last, 3U);
  EXPECT_EQ(failures[0].code, 999);
  EXPECT_EQ(failures[1].last, 4U);
  EXPECT_EQ(failures[1].code, 2);
  EXPECT_EQ(failures[2].function, "cuMemcpyAsync");
  EXPECT_EQ(failures[2].last, UINT64_MAX);
  EXPECT_TRUE(parse_failures("").empty());
}

TEST(StandInPlannedFailures, WhatIsNoneIsRefused) {
  for (const char* text : {"cuMemAlloc", "cuMemAlloc:", "cuMemAlloc:x", "cuMemAlloc:1-2-3",
                           "malloc:1", "cuMemAlloc:1:", "cuMemAlloc:1:2:3", "cuMemAlloc:1,"})
    EXPECT_THROW((void)parse_failures(text), Error) << text;
}

TEST(StandInPlannedFailures, HitTheUsesTheyName) {
  Peer peer({"STANDIN_FAIL=cuMemAlloc_v2:2-3:2,cuDeviceGetCount:1"});
  peer.ask("init");
  peer.ask("device 0");

  EXPECT_EQ(peer.ask("count"), "error 999");
  EXPECT_EQ(peer.ask("count"), "4");
  EXPECT_NE(peer.ask("alloc 4096"), kOutOfMemory);
  EXPECT_EQ(peer.ask("alloc 4096"), kOutOfMemory);
  EXPECT_EQ(peer.ask("alloc 4096"), kOutOfMemory);
  EXPECT_NE(peer.ask("alloc 4096"), kOutOfMemory);
}

TEST(StandInPlannedFailures, MayBeTheVeryFirstCall) {
  Peer peer({"STANDIN_FAIL=cuInit:1:100"});

  EXPECT_EQ(peer.ask("init"), "error 100");
  EXPECT_EQ(peer.ask("count"), "error 3");
  EXPECT_EQ(peer.ask("init"), "ok");
}

TEST(StandInPlannedFailures, OfFunctionsThatAreNoneAreSaid) {
  Peer peer({"STANDIN_FAIL=cuMemAlocate:1"});

  EXPECT_EQ(peer.ask("init"), "error 999");
  EXPECT_EQ(peer.quit(), 0);
  EXPECT_THAT(peer.complaints(), testing::HasSubstr("STANDIN_FAIL names cuMemAlocate"));
}

}  // namespace
}  // namespace polypath::test::modes_test
