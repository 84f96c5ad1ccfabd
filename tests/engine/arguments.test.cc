// What an engine refuses, naming it, before anything is enqueued.

#include <gtest/gtest.h>

#include "machine/load_machine.h"
#include "support/errors.h"
#include "support/rig.h"

namespace polypath::test::arguments_test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class Arguments : public testing::Test {
 protected:
  // The message names what is wrong, nothing is enqueued and nothing is counted.
  template <class... Parts>
  void expect_refused(const CopyCall& call, const Parts&... parts) {
    const int copies = rig_.driver().uses(sim::Call::copy);
    expect_invalid_argument([&] { rig_.engine().copy(call); }, parts...);
    const Statistics counted = rig_.statistics();
    EXPECT_EQ(rig_.driver().uses(sim::Call::copy), copies);
    EXPECT_EQ(counted.transfers, 0U);
    EXPECT_EQ(counted.errors, 0U);
    EXPECT_EQ(counted.fallbacks, 0U);
    EXPECT_EQ(counted.bytes, 0_B);
  }
  CopyCall call(std::size_t bytes = 4 * kMiB) {
    return rig_.call(destination_, 0, source_, 0, bytes, stream_);
  }

  Rig rig_{"beluga"};
  Buffer& source_ = rig_.buffer("gpu0", 4 * kMiB);
  Buffer& destination_ = rig_.buffer("gpu1", 4 * kMiB);
  StreamHandle stream_ = rig_.stream("gpu0");
};

TEST_F(Arguments, NullIsRefused) {
  CopyCall no_source = call();
  no_source.source = {};
  CopyCall no_destination = call();
  no_destination.destination = {};

  expect_refused(no_source, "source is null");
  expect_refused(no_destination, "destination is null");
}

TEST_F(Arguments, UnknownAndFreedMemoryIsRefused) {
  CopyCall unknown = call();
  unknown.source = {0x10};
  Buffer& gone = rig_.buffer("gpu1", 4 * kMiB);
  CopyCall freed = call();
  freed.destination = gone.address;
  rig_.free(gone);

  expect_refused(unknown, "source 0x10", "not known");
  expect_refused(freed, "destination 0x", "no live allocation");
}

TEST_F(Arguments, RangesBeyondTheirAllocationAreRefused) {
  expect_refused(call(4 * kMiB + 1), "source is too short", "4194304 bytes are left", "4194305");
  CopyCall shifted = call();
  shifted.destination = shifted.destination + 1_B;
  expect_refused(shifted, "destination is too short", "4194303 bytes are left");
  CopyCall huge = call();
  huge.bytes = {~std::uint64_t{0}};
  expect_refused(huge, "source is too short", "18446744073709551615");
}

TEST_F(Arguments, OverlapIsRefused) {
  CopyCall overlapping = call(kMiB);
  overlapping.destination = overlapping.source + Bytes{kMiB - 1};
  expect_refused(overlapping, "overlap");
  overlapping.destination = overlapping.source;
  expect_refused(overlapping, "overlap");

  overlapping.destination = overlapping.source + Bytes{kMiB};
  EXPECT_NO_THROW(rig_.engine().copy(overlapping));
}

TEST_F(Arguments, UnusableOptionsAreRefused) {
  CopyCall wrong = call();
  wrong.options.paths = {"direct", "gpu7"};
  expect_refused(wrong, "gpu7");
  wrong.options.paths = {"gpu1"};
  expect_refused(wrong, "gpu1");
  wrong.options.paths = {};
  wrong.options.shares = {{"direct", 0.5}, {"gpu2", 0.4}};
  expect_refused(wrong, "shares do not add up to 1");
  wrong.options.shares = {};
  wrong.options.chunks = {{"gpu2", 0}};
  expect_refused(wrong, "gpu2=0");
}

TEST_F(Arguments, AnUnknownStreamIsRefused) {
  CopyCall lost = call();
  lost.stream = {4711};

  expect_refused(lost, "stream 4711");
  const CopyResult next =
      rig_.copy(destination_, source_, stream_, forced({"direct", "gpu2"}, Executor::stream));

  EXPECT_EQ(next.executor, Executor::stream);
  EXPECT_TRUE(rig_.intact());
}

TEST(Unreachable, PlacesWithoutAHopAreRefused) {
  Machine machine = load_machine("beluga");
  std::erase_if(machine.hops, [](const Hop& hop) {
    return hop.source == PlaceId{0} && hop.destination == PlaceId{1};
  });
  Rig rig(machine, {});
  Buffer& source = rig.buffer("gpu0", 4 * kMiB);
  Buffer& destination = rig.buffer("gpu1", 4 * kMiB);
  const StreamHandle stream = rig.stream("gpu0");

  for (const std::size_t bytes : {std::size_t{64}, 4 * kMiB})
    expect_invalid_argument(
        [&] { rig.engine().copy(rig.call(destination, 0, source, 0, bytes, stream)); },
        "no copy leads from gpu0 to gpu1");
}

}  // namespace
}  // namespace polypath::test::arguments_test
