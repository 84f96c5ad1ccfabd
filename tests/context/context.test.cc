// What a context keeps for its program: memory and streams.

#include "context/context.h"

#include <gtest/gtest.h>

#include "context/open.h"
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

}  // namespace
}  // namespace polypath::test::context_test
