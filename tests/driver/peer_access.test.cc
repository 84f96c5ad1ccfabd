// What a program is told of peer access is what it would be told without Polypath.

#include "driver/cuda/peer_access.h"

#include <gtest/gtest.h>

#include <set>

namespace polypath::cuda::peer_access_test {
namespace {

// A driver that knows what is enabled.
class Peers : public testing::Test {
 protected:
  using Pair = std::pair<ContextPointer, ContextPointer>;

  Result enable(const Pair& pair) {
    return enabled_.insert(pair).second ? kSuccess : kPeerAccessAlreadyEnabled;
  }
  Result disable(const Pair& pair) {
    return enabled_.erase(pair) > 0 ? kSuccess : kPeerAccessNotEnabled;
  }
  Result ours() {
    return access_.enable(kOne, kOther, [&] { return enable({kOne, kOther}); });
  }
  Result program_enables() {
    return access_.program_enables(kOne, kOther, [&] { return enable({kOne, kOther}); });
  }
  Result program_disables() {
    return access_.program_disables(kOne, kOther, [&] { return disable({kOne, kOther}); });
  }
  [[nodiscard]] bool is_enabled() const { return enabled_.contains({kOne, kOther}); }

  const ContextPointer kOne = reinterpret_cast<ContextPointer>(0x1000);
  const ContextPointer kOther = reinterpret_cast<ContextPointer>(0x2000);
  PeerAccess access_;
  std::set<Pair> enabled_;
};

TEST_F(Peers, AreTheDriversWithoutPolypath) {
  EXPECT_EQ(program_disables(), kPeerAccessNotEnabled);
  EXPECT_EQ(program_enables(), kSuccess);
  EXPECT_EQ(program_enables(), kPeerAccessAlreadyEnabled);
  EXPECT_EQ(program_disables(), kSuccess);
  EXPECT_FALSE(is_enabled());
}

TEST_F(Peers, EnabledByPolypathAreNotByTheProgram) {
  EXPECT_EQ(ours(), kSuccess);

  EXPECT_EQ(program_disables(), kPeerAccessNotEnabled);
  EXPECT_TRUE(is_enabled());
  EXPECT_EQ(program_enables(), kSuccess);
  EXPECT_EQ(program_enables(), kPeerAccessAlreadyEnabled);
}

TEST_F(Peers, StayForPolypathWhenTheProgramDisablesThem) {
  EXPECT_EQ(program_enables(), kSuccess);
  EXPECT_EQ(ours(), kSuccess);

  EXPECT_EQ(program_disables(), kSuccess);

  EXPECT_TRUE(is_enabled());
  EXPECT_EQ(program_disables(), kPeerAccessNotEnabled);
  EXPECT_EQ(program_enables(), kSuccess);
}

TEST_F(Peers, EndWithAContext) {
  EXPECT_EQ(ours(), kSuccess);
  EXPECT_EQ(program_enables(), kSuccess);

  enabled_.clear();
  access_.forget(kOther);

  EXPECT_EQ(program_enables(), kSuccess);
  EXPECT_TRUE(is_enabled());
}

// Polypath holds the context on when the program has let go of it.
TEST_F(Peers, AreNewToAProgramThatComesBackToAContext) {
  EXPECT_EQ(program_enables(), kSuccess);

  access_.program_forgets(kOne);

  EXPECT_TRUE(is_enabled());
  EXPECT_EQ(program_disables(), kPeerAccessNotEnabled);
  EXPECT_EQ(program_enables(), kSuccess);
  EXPECT_EQ(program_enables(), kPeerAccessAlreadyEnabled);
}

TEST_F(Peers, ErrorsOfTheDriverAreTheProgramsToo) {
  constexpr Result kUnsupported = 217;

  EXPECT_EQ(access_.program_enables(kOne, kOther, [] { return kUnsupported; }), kUnsupported);
  EXPECT_EQ(access_.enable(kOne, kOther, [] { return kUnsupported; }), kUnsupported);
  EXPECT_EQ(program_disables(), kPeerAccessNotEnabled);
}

}  // namespace
}  // namespace polypath::cuda::peer_access_test
