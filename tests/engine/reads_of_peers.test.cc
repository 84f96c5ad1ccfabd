// Copies that the receiver's GPU makes: what goes by the host would wait for its reads.

#include <gmock/gmock.h>

#include "support/rig.h"

namespace polypath::test::reads_of_peers_test {
namespace {

using testing::IsEmpty;

constexpr std::size_t kSize = std::size_t{64} << 20;

Settings with_own_contexts() {
  Settings settings;
  settings.own_contexts = true;
  return settings;
}

// Behind a switch only the host gains.
class ReadsOfPeers : public testing::Test {
 protected:
  CopyResult copy_by(const char* gpu) { return rig_.copy(destination_, source_, rig_.stream(gpu)); }
  void TearDown() override {
    EXPECT_TRUE(rig_.intact());
    EXPECT_THAT(rig_.close(), IsEmpty());
  }

  Rig rig_{"h200x4", with_own_contexts()};
  Buffer& source_ = rig_.buffer("gpu0", kSize);
  Buffer& destination_ = rig_.buffer("gpu1", kSize);
};

TEST_F(ReadsOfPeers, LeaveTheHostOut) {
  const CopyResult result = copy_by("gpu1");

  EXPECT_EQ(result.means, Means::native);
  EXPECT_EQ(result.obstacle, Obstacle::reads_peer);
}

TEST_F(ReadsOfPeers, WhichTheOwnerSendsDoNot) { EXPECT_EQ(copy_by("gpu0").means, Means::paths); }

}  // namespace
}  // namespace polypath::test::reads_of_peers_test
