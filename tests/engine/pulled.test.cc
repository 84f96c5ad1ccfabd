// Copies to a host: relays pull, and copies by the source's GPU are in the program's stream.

#include <gmock/gmock.h>

#include <set>

#include "support/forwarding_driver.h"
#include "support/rig.h"

namespace polypath::test::pulled_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::size_t kMiB = std::size_t{1} << 20;

// Notes whose streams are made, and which copies from a GPU to a host are put into which stream.
class NotingDriver final : public ForwardingDriver {
 public:
  using ForwardingDriver::ForwardingDriver;
  StreamHandle create_stream(PlaceId gpu) override {
    gpus.insert(gpu);
    return ForwardingDriver::create_stream(gpu);
  }
  void copy(const CopyRequest& request, StreamHandle stream) override {
    sources[request.source_place].insert(stream);
    ForwardingDriver::copy(request, stream);
  }
  void copy_native(const NativeCopy& request, StreamHandle stream) override {
    sources[request.source_place].insert(stream);
    ForwardingDriver::copy_native(request, stream);
  }
  std::set<PlaceId> gpus;
  std::map<PlaceId, std::set<StreamHandle>> sources;
};

class Pulled : public testing::TestWithParam<Executor> {};

INSTANTIATE_TEST_SUITE_P(Executors, Pulled, testing::Values(Executor::stream, Executor::graph),
                         [](const auto& info) { return name_of(info.param); });

TEST_P(Pulled, CopiesNeedNoStreamOfTheirSource) {
  Rig rig("beluga");
  const auto& driver = rig.use<NotingDriver>();
  Buffer &source = rig.buffer("gpu0", 8 * kMiB), &destination = rig.buffer("host0", 8 * kMiB);

  const CopyResult result = rig.copy(destination, source, rig.stream("gpu0"),
                                     forced({"direct", "gpu1", "gpu2"}, GetParam()));

  EXPECT_EQ(result.executor, GetParam());
  EXPECT_THAT(driver.gpus,
              ElementsAre(rig.machine().find_place("gpu1"), rig.machine().find_place("gpu2")));
  EXPECT_TRUE(rig.intact());
  EXPECT_THAT(rig.close(), IsEmpty());
}

// The memory that relays pull from is copied to a host at full speed only in the program's context.
TEST(PulledWindows, LeaveTheSourceInTheProgramsStream) {
  Rig rig("beluga", window_settings());
  const auto& driver = rig.use<NotingDriver>();
  Buffer &source = rig.buffer("gpu0", 8 * kMiB), &host = rig.pageable_buffer(8 * kMiB);
  const StreamHandle stream = rig.stream("gpu0");

  const CopyResult result = rig.copy(host, source, stream);

  EXPECT_EQ(result.means, Means::windows);
  EXPECT_THAT(driver.sources.at(source.place), ElementsAre(stream));
  EXPECT_TRUE(rig.intact());
  EXPECT_THAT(rig.close(), IsEmpty());
}

// --- memory that only its own GPU may reach ---

class ClosedMemory final : public ForwardingDriver {
 public:
  using ForwardingDriver::ForwardingDriver;
  bool kernels_reach(PlaceId, Address) override { return false; }
};

class Closed : public testing::Test {
 protected:
  Closed() { rig_.use<ClosedMemory>(); }
  Rig rig_{"beluga", window_settings()};
  StreamHandle stream_ = rig_.stream("gpu0");
  Buffer& gpu_ = rig_.buffer("gpu0", 8 * kMiB);
};

TEST_F(Closed, IsCopiedNativelyBothWays) {
  Buffer &in = rig_.buffer("host0", 8 * kMiB), &out = rig_.buffer("host0", 8 * kMiB);

  EXPECT_EQ(rig_.copy(gpu_, in, stream_).executor, Executor::native);
  rig_.synchronize();
  EXPECT_EQ(rig_.copy(out, gpu_, stream_).executor, Executor::native);
  EXPECT_TRUE(rig_.intact());
}

TEST_F(Closed, TakesNoWindows) {
  Buffer& host = rig_.pageable_buffer(8 * kMiB);

  EXPECT_EQ(rig_.copy(host, gpu_, stream_).means, Means::native);
  EXPECT_TRUE(rig_.intact());
}

TEST_F(Closed, IsInNoJointPlan) {
  Buffer &second = rig_.buffer("gpu0", 8 * kMiB), &out = rig_.buffer("host0", 8 * kMiB);
  Buffer& other = rig_.buffer("host0", 8 * kMiB);
  const std::vector<CopyCall> calls{rig_.call(out, 0, gpu_, 0, 8 * kMiB, stream_),
                                    rig_.call(other, 0, second, 0, 8 * kMiB, stream_)};

  for (const CopyResult& result : rig_.engine().copy_many(calls))
    EXPECT_EQ(result.executor, Executor::native);
  rig_.synchronize();
}

}  // namespace
}  // namespace polypath::test::pulled_test
