#include "ways/preload/queued_memory.h"

#include <gtest/gtest.h>

#include <limits>

namespace polypath::preload::queued_memory_test {
namespace {

MemoryInfo memory(std::uintptr_t base, std::uint64_t size) {
  return {PlaceId{}, Address{base}, Bytes{size}, MemoryKind::pinned};
}

TEST(QueuedMemory, IsUsedFromTheFirstCopyOnUntilItIsOver) {
  QueuedMemory queued;
  EXPECT_FALSE(queued.may_be_used(Address{0x1000}));

  queued.note(memory(0x1000, 0x100));
  EXPECT_TRUE(queued.may_be_used(Address{0x1000}));
  EXPECT_TRUE(queued.may_be_used(Address{0x10ff}));
  EXPECT_FALSE(queued.may_be_used(Address{0x1100}));
  EXPECT_FALSE(queued.may_be_used(Address{0xfff}));

  queued.forget(queued.now());
  EXPECT_FALSE(queued.may_be_used(Address{0x1000}));
}

TEST(QueuedMemory, KeepsWhatIsCopiedWhileSomebodyWaits) {
  QueuedMemory queued;
  queued.note(memory(0x1000, 0x100));
  const std::uint64_t until = queued.now();

  queued.note(memory(0x2000, 0x100));
  queued.forget(until);

  EXPECT_FALSE(queued.may_be_used(Address{0x1000}));
  EXPECT_TRUE(queued.may_be_used(Address{0x2000}));
}

TEST(QueuedMemory, KeepsWhatIsCopiedAgainWhileSomebodyWaits) {
  QueuedMemory queued;
  queued.note(memory(0x1000, 0x100));
  const std::uint64_t until = queued.now();

  queued.note(memory(0x1000, 0x100));
  queued.forget(until);

  EXPECT_TRUE(queued.may_be_used(Address{0x1000}));
}

TEST(QueuedMemory, TakesAllMemoryForUsedWhereTheDriverDoesNotSayHowFarItGoes) {
  QueuedMemory queued;
  const std::uintptr_t base = 0x5000;
  queued.note(memory(base, std::numeric_limits<std::uint64_t>::max() - base));
  EXPECT_TRUE(queued.may_be_used(Address{0x1000}));

  queued.forget(queued.now());
  EXPECT_FALSE(queued.may_be_used(Address{0x1000}));
}

TEST(QueuedMemory, TakesAllMemoryForUsedWhereThereAreTooManyPieces) {
  QueuedMemory queued;
  for (std::size_t i = 0; i <= QueuedMemory::kMost; ++i)
    queued.note(memory(0x10000 + i * 0x1000, 0x1000));
  EXPECT_TRUE(queued.may_be_used(Address{0x1000}));

  queued.forget(queued.now());
  EXPECT_FALSE(queued.may_be_used(Address{0x1000}));
  EXPECT_FALSE(queued.may_be_used(Address{0x10000}));
}

}  // namespace
}  // namespace polypath::preload::queued_memory_test
