// Copies with memory at an end that no plan is made for, or none through windows: one native copy.

#include <gmock/gmock.h>

#include "support/errors.h"
#include "support/forwarding_driver.h"
#include "support/rig.h"

namespace polypath::test::pageable_native_test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class Native : public testing::Test {
 protected:
  void expect_native(const Buffer& destination) {
    EXPECT_EQ(rig_.statistics().native, 1U);
    EXPECT_EQ(rig_.statistics().transfers, 1U);
    EXPECT_EQ(rig_.driver().uses(sim::Call::copy), 1);
    rig_.synchronize();
    EXPECT_TRUE(Rig::intact(destination));
  }

  Rig rig_{"beluga", window_settings()};
  Buffer& host_ = rig_.pageable_buffer(kMiB);
  Buffer& gpu_ = rig_.buffer("gpu0", kMiB);
  StreamHandle stream_ = rig_.stream("gpu0");
};

TEST_F(Native, IsACopyBetweenPageableMemories) {
  Buffer& other = rig_.pageable_buffer(kMiB);

  rig_.copy(other, host_, stream_);

  expect_native(other);
}

TEST_F(Native, IsACopyBetweenPageableAndPinnedMemory) {
  Buffer& pinned = rig_.buffer("host", kMiB);

  rig_.copy(pinned, host_, stream_);

  expect_native(pinned);
}

TEST_F(Native, IsACopyThatIsAskedToBe) {
  rig_.copy(gpu_, host_, stream_, forced({"direct"}, Executor::native));

  expect_native(gpu_);
}

class Capturing final : public ForwardingDriver {
 public:
  using ForwardingDriver::ForwardingDriver;
  bool is_capturing(StreamHandle) override { return true; }
};

TEST_F(Native, IsACopyOnACapturedStream) {
  rig_.use<Capturing>();

  rig_.copy(gpu_, host_, stream_);

  expect_native(gpu_);
}

class Managed final : public ForwardingDriver {
 public:
  using ForwardingDriver::ForwardingDriver;
  std::optional<MemoryInfo> find_memory(Address address) override {
    auto memory = ForwardingDriver::find_memory(address);
    if (memory && memory->kind == MemoryKind::device) memory->kind = MemoryKind::managed;
    return memory;
  }
};

TEST_F(Native, IsACopyOfManagedMemory) {
  rig_.use<Managed>();

  rig_.copy(gpu_, host_, stream_);

  expect_native(gpu_);
}

TEST_F(Native, BadArgumentsAreRefused) {
  PlanOptions unusable;
  unusable.paths = {"direct", "gpu7"};
  expect_invalid_argument([&] { rig_.copy(gpu_, host_, stream_, unusable); }, "gpu7");
  expect_invalid_argument([&] { rig_.engine().copy(rig_.call(gpu_, 0, host_, 1, kMiB, stream_)); },
                          "source is too short");

  EXPECT_EQ(rig_.statistics().transfers, 0U);
  EXPECT_EQ(rig_.driver().uses(sim::Call::copy), 0);
}

}  // namespace
}  // namespace polypath::test::pageable_native_test
