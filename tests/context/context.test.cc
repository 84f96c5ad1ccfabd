// What a context keeps for its program: memory and streams.

#include "context/context.h"

#include <gtest/gtest.h>

#include <vector>

#include "context/open.h"
#include "core/error.h"
#include "driver/sim/sim_driver.h"
#include "support/layers.h"

namespace polypath::test::context_test {
namespace {

constexpr Bytes kLarge = 64_MiB;

// 64 MiB take more than 300 us even at 200 GB/s.
TEST(Context, FreesMemoryOnceItsCopiesAreOver) {
  Context context(open_machine("beluga", {}));
  const Address source = context.allocate("gpu0", kLarge);
  const Address destination = context.allocate("gpu1", kLarge);
  const StreamHandle stream = context.create_stream("gpu0");
  const Seconds before = context.now();
  (void)context.copy(destination, source, kLarge, stream);

  context.free(source);

  EXPECT_GT(context.now() - before, 300_us);
}

// Three blocks of which the last one fails are copied: the stream beside theirs has to wait for the
// first two all the same.
TEST(Context, KeepsTheOrderWithStreamsBesideAlsoAfterAnError) {
  Context context(open_machine("h200x4", {}));
  const Address source = context.allocate("gpu0", kLarge);
  const Address destination = context.allocate("gpu1", kLarge);
  const GpuStream stream{"gpu0", context.create_stream("gpu0")};
  const GpuStream beside{"gpu1", context.create_stream("gpu1")};
  std::vector<Piece> pieces;
  for (std::size_t block = 0; block < 3; ++block)
    pieces.push_back({destination + 16_MiB * block, source + 16_MiB * block, 8_MiB});
  auto& driver = dynamic_cast<sim::SimDriver&>(context.opened().untraced_driver());
  driver.fail_from(sim::Call::copy, 3);
  std::size_t enqueued = 0;

  EXPECT_THROW((void)context.copy_pieces(stream, {beside}, pieces, &enqueued), Error);

  driver.fail_from(sim::Call::copy, 1 << 20);
  EXPECT_EQ(enqueued, 2U);
  (void)context.copy_on(beside.gpu, beside.handle, source, destination, 8_MiB);
  context.synchronize(beside.handle);
  context.synchronize(stream.handle);
  EXPECT_TRUE(context.violations().empty());
}

// The second copy reads what the first one writes, so that they are made one after the other.
TEST(Context, RefusesBadCopiesBeforeAnyOfThoseThatDependOnEachOther) {
  Context context(open_machine("h200x4", {}));
  const Address first = context.allocate("gpu0", kLarge);
  const Address second = context.allocate("gpu1", kLarge);
  const GpuStream stream{"gpu0", context.create_stream("gpu0")};
  const GpuStream beside{"gpu1", context.create_stream("gpu1")};
  const auto copy = [&](Address to, Address from, Bytes bytes) {
    return OrderedCopy{
        .stream = stream, .beside = {beside}, .destination = to, .source = from, .bytes = bytes};
  };
  std::size_t enqueued = 1;

  EXPECT_THROW((void)context.copy_many({copy(second, first, kLarge), copy(first, second, kLarge),
                                        copy(second, first, kLarge + kLarge)},
                                       &enqueued),
               Error);

  EXPECT_EQ(enqueued, 0U);
  EXPECT_EQ(context.statistics().transfers, 0U);
}

}  // namespace
}  // namespace polypath::test::context_test
