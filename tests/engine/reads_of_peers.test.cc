// Copies that the receiver's GPU makes: what goes by the host would wait for its reads, unless the
// memory is another process's.

#include <gmock/gmock.h>

#include "support/forwarding_driver.h"
#include "support/rig.h"

namespace polypath::test::reads_of_peers_test {
namespace {

using testing::IsEmpty;

constexpr std::size_t kSize = std::size_t{64} << 20;

// All memory is another process's.
class ImportingDriver final : public ForwardingDriver {
 public:
  using ForwardingDriver::ForwardingDriver;
  std::optional<MemoryInfo> find_memory(Address address) override {
    auto memory = ForwardingDriver::find_memory(address);
    if (memory) memory->imported = true;
    return memory;
  }
};

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

TEST_F(ReadsOfPeers, OfAnotherProcessDoNot) {
  rig_.use<ImportingDriver>();

  EXPECT_EQ(copy_by("gpu1").means, Means::paths);
}

}  // namespace
}  // namespace polypath::test::reads_of_peers_test
