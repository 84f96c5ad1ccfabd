// Copies that the receiver's GPU makes: their part by the host would wait for its reads.

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

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

  EXPECT_EQ(result.means, Method::native);
  EXPECT_EQ(result.obstacle, FallbackReason::reads_peer);
}

TEST_F(ReadsOfPeers, WhichTheOwnerSendsDoNot) { EXPECT_EQ(copy_by("gpu0").means, Method::paths); }

// Contexts and staging memory would be of no use.
TEST(ReadsOfPeersInTheBackground, PrepareNothing) {
  Settings settings = with_own_contexts();
  settings.prepare = "background";
  settings.prepare_after = 0;
  Rig rig("h200x4", settings);
  Buffer& source = rig.buffer("gpu0", kSize);
  Buffer& destination = rig.buffer("gpu1", kSize);
  const StreamHandle stream = rig.stream("gpu1");

  FallbackReason obstacle = FallbackReason::preparing;
  for (int i = 0; i < 10000 && obstacle == FallbackReason::preparing; ++i) {
    obstacle = rig.copy(destination, source, stream).obstacle;
    rig.synchronize();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the background gets a CPU
  }

  EXPECT_EQ(obstacle, FallbackReason::reads_peer);
  EXPECT_FALSE(rig.engine().has_staging());
  EXPECT_TRUE(rig.intact());
}

}  // namespace
}  // namespace polypath::test::reads_of_peers_test
