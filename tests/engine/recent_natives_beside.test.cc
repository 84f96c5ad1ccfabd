// Copies that lately went natively, where what is known of them must not be used: ranges that
// overlap, others in flight, a stream of another GPU. And what is in flight must know of them.

#include <gmock/gmock.h>

#include "core/error.h"
#include "machine/load_machine.h"
#include "support/errors.h"
#include "support/forwarding_driver.h"
#include "support/rig.h"

namespace polypath::test::recent_natives_beside_test {
namespace {

constexpr std::size_t kSmall = 4096, kLong = 8 << 20;

// As CUDA, it does not look whether the ends of a copy overlap; and it counts questions and copies.
class PlainDriver final : public ForwardingDriver {
 public:
  using ForwardingDriver::ForwardingDriver;
  std::optional<MemoryInfo> find_memory(Address address) override {
    ++questions;
    return ForwardingDriver::find_memory(address);
  }
  void copy_native(const NativeCopy& request, StreamHandle stream) override {
    ++copies;
    const std::uint64_t apart = request.source > request.destination
                                    ? request.source.value - request.destination.value
                                    : request.destination.value - request.source.value;
    if (apart >= request.bytes.value) ForwardingDriver::copy_native(request, stream);
  }
  int questions = 0, copies = 0;
};

Settings direct_only() {
  Settings settings;
  settings.include = {"direct"};
  return settings;
}

Machine beluga_with(Seconds brief_copy) {
  Machine machine = load_machine("beluga");
  machine.driver.brief_copy = brief_copy;
  return machine;
}

// Copies over beluga's direct paths. Long ones, of 180 us, are contention for others.
class RecentBeside : public testing::Test {
 protected:
  explicit RecentBeside(Seconds brief_copy = DriverBehaviour{}.brief_copy)
      : machine_(beluga_with(brief_copy)) {}
  CopyCall call(const std::string& from, const std::string& to, std::size_t bytes,
                StreamHandle stream) {
    return rig_.call(rig_.buffer(to, bytes), 0, rig_.buffer(from, bytes), 0, bytes, stream);
  }
  int questions_of(const CopyCall& call) {
    const int before = driver_.questions;
    engine_.copy(call);
    return driver_.questions - before;
  }
  void make_known(const CopyCall& call) {
    ASSERT_GT(questions_of(call), 0);
    rig_.synchronize();
    ASSERT_EQ(questions_of(call), 0);
    rig_.synchronize();
  }

  Machine machine_;
  Rig rig_{machine_, direct_only()};
  PlainDriver driver_{rig_.driver()};
  std::shared_ptr<LoadTracker> load_ = std::make_shared<LoadTracker>(machine_);
  Engine engine_{driver_, machine_, direct_only(), load_};
  StreamHandle stream_ = rig_.stream("gpu0");
};

// Between the same pages as the known one.
TEST_F(RecentBeside, OverlappingRangesNeverReachTheDriver) {
  constexpr std::size_t kPage = 4096;
  Buffer& memory = rig_.buffer("gpu0", 4 * kPage);
  const std::size_t start = kPage - memory.address.value % kPage;
  CopyCall within = rig_.call(memory, start + kPage, memory, start, kPage / 2, stream_);
  make_known(within);
  within.source.value += kPage - 1;
  const int copies = driver_.copies;

  const auto copy = [&] { engine_.copy(within); };

  expect_invalid_argument(copy, "overlap");
  EXPECT_EQ(driver_.copies, copies);
}

TEST_F(RecentBeside, OnesBetweenOtherPlacesAreLookedAt) {
  const CopyCall known = call("gpu0", "gpu1", kLong, stream_);
  make_known(known);
  const CopyCall other = call("gpu0", "gpu2", kLong, rig_.stream("gpu0"));
  engine_.copy(other);

  EXPECT_GT(questions_of(known), 0);
}

// Where these long ones count as brief.
class BriefBeside : public RecentBeside {
 protected:
  BriefBeside() : RecentBeside(200_us) {}
};

TEST_F(BriefBeside, OnesBetweenOtherPlacesAreNotLookedAt) {
  const CopyCall known = call("gpu0", "gpu1", kLong, stream_);
  make_known(known);
  const CopyCall other = call("gpu0", "gpu2", kLong, rig_.stream("gpu0"));
  engine_.copy(other);

  EXPECT_EQ(questions_of(known), 0);
}

TEST_F(RecentBeside, OthersSeeThem) {
  const CopyCall known = call("gpu0", "gpu1", kLong, stream_);
  make_known(known);
  const TransferRequest asked{rig_.stream("gpu2"), {2}, {3}, Bytes{kLong}};
  ASSERT_TRUE(load_->contention_of(asked, driver_.now()).load.empty());

  engine_.copy(known);

  EXPECT_FALSE(load_->contention_of(asked, driver_.now()).load.empty());
}

TEST_F(RecentBeside, AStreamOfAnotherGpuIsAnotherCopy) {
  CopyCall known = call("gpu0", "gpu1", kLong, stream_);
  make_known(known);
  known.stream = rig_.stream("gpu1");
  known.stream_gpu = {1};

  EXPECT_GT(questions_of(known), 0);
}

TEST_F(RecentBeside, ASmallCopyByAStreamOfAnotherGpuIsAnotherOne) {
  CopyCall known = call("gpu0", "gpu1", kSmall, stream_);
  make_known(known);
  known.stream = rig_.stream("gpu1");
  known.stream_gpu = {1};

  EXPECT_GT(questions_of(known), 0);
}

}  // namespace
}  // namespace polypath::test::recent_natives_beside_test
