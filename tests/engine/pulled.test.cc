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

  EXPECT_EQ(result.means, Method::windows);
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

constexpr std::size_t kLarge = 64 * kMiB;

// Copies of 64 MiB between a host and a GPU gain by relays there.
class Closed : public testing::TestWithParam<bool> {
 protected:
  Closed() {
    if (GetParam()) rig_.use<ClosedMemory>();
  }
  [[nodiscard]] static Executor expected() {
    return GetParam() ? Executor::native : Executor::stream;
  }
  Rig rig_{"h200x4", settings()};
  StreamHandle stream_ = rig_.stream("gpu0");
  Buffer& gpu_ = rig_.buffer("gpu0", kLarge);
  Buffer& host_ = rig_.buffer("host0", kLarge);

 private:
  static Settings settings() {
    Settings settings;
    settings.executor = "stream";
    return settings;
  }
};

INSTANTIATE_TEST_SUITE_P(Memory, Closed, testing::Bool(),
                         [](const auto& of) { return of.param ? "closed" : "open"; });

TEST_P(Closed, IsCopiedNatively) {
  EXPECT_EQ(rig_.copy(gpu_, host_, stream_).executor, expected());
  rig_.synchronize();
  EXPECT_EQ(rig_.copy(host_, gpu_, stream_).executor, expected());
  EXPECT_TRUE(rig_.intact());
}

TEST_P(Closed, IsInNoJointPlan) {
  Buffer &second = rig_.buffer("gpu1", kLarge), &source = rig_.buffer("host0", kLarge);
  const std::vector<CopyCall> calls{rig_.call(gpu_, 0, host_, 0, kLarge, stream_),
                                    rig_.call(second, 0, source, 0, kLarge, rig_.stream("gpu1"))};

  const std::vector<CopyResult> results = rig_.engine().copy_many(calls);

  EXPECT_EQ(results.front().executor, expected());
  rig_.synchronize();
}

TEST(ClosedWindows, AreNotUsed) {
  Rig rig("beluga", window_settings());
  rig.use<ClosedMemory>();
  Buffer &gpu = rig.buffer("gpu0", 8 * kMiB), &host = rig.pageable_buffer(8 * kMiB);

  EXPECT_EQ(rig.copy(host, gpu, rig.stream("gpu0")).means, Method::native);
  EXPECT_TRUE(rig.intact());
}

}  // namespace
}  // namespace polypath::test::pulled_test
