// Beginning and end of the driver in a process, its environment, and what it says at the end.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "standin/peer.h"
#include "support/layers.h"

namespace polypath::test::lifetime_test {
namespace {

using testing::HasSubstr;

// CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_DEINITIALIZED, CUDA_ERROR_NO_DEVICE
const std::string kNotInitialized = "error 3", kDeinitialized = "error 4", kNoDevice = "error 100";

TEST(StandInLifetime, NothingWorksBeforeInit) {
  Peer peer;

  EXPECT_EQ(peer.ask("count"), kNotInitialized);
  EXPECT_EQ(peer.ask("init"), "ok");
  EXPECT_EQ(peer.ask("count"), "4");
}

TEST(StandInLifetime, AForkedChildHasNoDriverAndDoesNotHang) {
  Peer peer;
  peer.ask("init");

  EXPECT_EQ(peer.ask("fork"), kNotInitialized + ", init " + kNotInitialized);
  EXPECT_EQ(peer.ask("count"), "4");
  EXPECT_EQ(peer.quit(), 0) << peer.complaints();
}

TEST(StandInLifetime, AChildOfAProgramThatNeverBeganHasOne) {
  Peer peer;

  EXPECT_EQ(peer.ask("fork"), kNotInitialized + ", init ok");
}

TEST(StandInLifetime, LateExitHandlersAreToldThatItIsOver) {
  Peer peer;
  peer.ask("at_exit");
  peer.ask("init");

  EXPECT_EQ(peer.quit(), 0) << peer.complaints();
  EXPECT_EQ(peer.last_words(), "at exit: " + kDeinitialized + "\n");
}

TEST(StandInLifetime, TheEnvironmentNamesTheMachine) {
  Peer peer({"STANDIN_MACHINE=dgx-a100"});
  peer.ask("init");

  EXPECT_EQ(peer.ask("count"), "8");
}

TEST(StandInLifetime, AMachineThatIsNoneIsAnErrorWithWords) {
  Peer peer({"STANDIN_MACHINE=nowhere"});

  EXPECT_EQ(peer.ask("init"), "error 999");
  EXPECT_EQ(peer.ask("count"), kNotInitialized);
  EXPECT_EQ(peer.quit(), 0) << peer.complaints();
  EXPECT_THAT(peer.complaints(), HasSubstr("nowhere"));
}

TEST(StandInLifetime, HiddenGpusAreNotThere) {
  Peer all, some({"CUDA_VISIBLE_DEVICES=2,1"}), none({"CUDA_VISIBLE_DEVICES="});
  all.ask("init");

  EXPECT_EQ(some.ask("init"), "ok");
  EXPECT_EQ(some.ask("count"), "2");
  EXPECT_EQ(some.ask("bus 0"), all.ask("bus 2"));
  EXPECT_EQ(some.ask("bus 2"), "error 101");
  EXPECT_EQ(none.ask("init"), kNoDevice);
}

class StandInViolations : public testing::TestWithParam<bool> {};

TEST_P(StandInViolations, RacesAreToldAndEndAStrictProgramWithAStatus) {
  Peer peer({GetParam() ? "STANDIN_STRICT=1" : "STANDIN_STRICT=0"});
  peer.ask("init");
  peer.ask("device 0");
  const std::string from = peer.ask("alloc 4096"), to = peer.ask("alloc 4096");

  EXPECT_EQ(peer.ask("race " + to + " " + from), "ok");

  EXPECT_EQ(peer.quit(), GetParam() ? 86 : 0) << peer.complaints();
  EXPECT_THAT(peer.complaints(), HasSubstr("race: copy of 4096 bytes from gpu0 to gpu0"));
}

INSTANTIATE_TEST_SUITE_P(Strict, StandInViolations, testing::Bool());

TEST(StandInLifetime, AStrictProgramWithoutViolationsEndsWell) {
  Peer peer({"STANDIN_STRICT=1"});
  peer.ask("init");
  peer.ask("device 0");
  const std::string from = peer.ask("alloc 4096"), to = peer.ask("alloc 4096");
  peer.ask("copy " + to + " " + from + " 4096");

  EXPECT_EQ(peer.quit(), 0) << peer.complaints();
  EXPECT_EQ(peer.complaints(), "");
}

TEST(StandInLifetime, StatisticsCountCallsAndCopies) {
  Peer peer({"STANDIN_STATISTICS=1"});
  peer.ask("init");
  peer.ask("device 0");
  const std::string from = peer.ask("alloc 100000");
  peer.ask("device 1");
  const std::string to = peer.ask("alloc 100000");

  peer.ask("copy " + to + " " + from + " 100000");
  peer.ask("copy " + to + " " + from + " 50000");

  EXPECT_EQ(peer.quit(), 0) << peer.complaints();
  EXPECT_THAT(peer.complaints(), HasSubstr("cuMemcpyDtoDAsync called 2\n"));
  EXPECT_THAT(peer.complaints(), HasSubstr("gpu0 to gpu1 copies 2 bytes 150000\n"));
}

TEST(StandInLifetime, TheLogSaysWhyCallsFail) {
  Peer peer({"STANDIN_LOG=1", "STANDIN_MEMORY=1M"});
  peer.ask("init");
  peer.ask("device 0");

  EXPECT_EQ(peer.ask("alloc 2000000"), "error 2");
  EXPECT_EQ(peer.quit(), 0) << peer.complaints();
  EXPECT_THAT(peer.complaints(), HasSubstr("cuMemAlloc: the GPU has no room left"));
}

}  // namespace
}  // namespace polypath::test::lifetime_test
