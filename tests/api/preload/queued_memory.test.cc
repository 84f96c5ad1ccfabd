#include "api/preload/queued_memory.h"

#include <gtest/gtest.h>

#include <limits>

#include "driver/sim/sim_driver.h"
#include "machine/load_machine.h"

namespace polypath::preload::queued_memory_test {
namespace {

// What one thread waits for takes no time on a simulated machine: whether it has been waited for,
// the stream's work says, which is over then.
class QueuedMemories : public testing::Test {
 protected:
  MemoryInfo memory(std::uintptr_t base, std::uint64_t size) {
    return {gpu_, Address{base}, Bytes{size}, MemoryKind::device};
  }
  // A copy of a millisecond, as one over several paths that uses these.
  void copy(StreamHandle stream, const std::vector<MemoryInfo>& memories) {
    driver_.copy_native({.destination = there_, .source = here_, .bytes = 50_MiB}, stream);
    queued_.note(memories, stream, gpu_);
  }
  bool is_over(StreamHandle stream) {
    const EventHandle end = driver_.create_event(gpu_);
    driver_.record(end, stream);
    const bool over = driver_.is_done(end);
    driver_.destroy_event(end);
    return over;
  }

  Machine machine_ = load_machine("h200x4");
  sim::SimDriver driver_{machine_};
  PlaceId gpu_ = machine_.find_place("gpu0");
  Address here_ = driver_.allocate(gpu_, 50_MiB);
  Address there_ = driver_.allocate(machine_.find_place("gpu1"), 50_MiB);
  StreamHandle first_ = driver_.create_stream(gpu_), second_ = driver_.create_stream(gpu_);
  QueuedMemory queued_{driver_};
};

TEST_F(QueuedMemories, AreWaitedForFromTheirFirstByteToTheirLast) {
  for (const std::uintptr_t address : {0x1000, 0x10ff}) {
    copy(first_, {memory(0x1000, 0x100)});
    queued_.wait_for(Address{address});
    EXPECT_TRUE(is_over(first_));
  }
  for (const std::uintptr_t address : {0xfff, 0x1100}) {
    copy(first_, {memory(0x1000, 0x100)});
    queued_.wait_for(Address{address});
    EXPECT_FALSE(is_over(first_));
  }
}

// Others may be behind work that waits for the program.
TEST_F(QueuedMemories, AreNotWaitedForByOthers) {
  copy(first_, {memory(0x1000, 0x100)});
  copy(second_, {memory(0x2000, 0x100)});

  queued_.wait_for(Address{0x1000});

  EXPECT_TRUE(is_over(first_));
  EXPECT_FALSE(is_over(second_));
}

TEST_F(QueuedMemories, AreWaitedForInEachStreamThatUsesThem) {
  copy(first_, {memory(0x1000, 0x100)});
  copy(second_, {memory(0x1000, 0x100), memory(0x2000, 0x100)});

  queued_.wait_for(Address{0x1000});

  EXPECT_TRUE(is_over(first_));
  EXPECT_TRUE(is_over(second_));
}

TEST_F(QueuedMemories, OfNoKnownEndMayBeAnywhere) {
  const std::uintptr_t base = 0x5000;
  copy(first_, {memory(base, std::numeric_limits<std::uint64_t>::max() - base)});

  queued_.wait_for(Address{0x1000});

  EXPECT_TRUE(is_over(first_));
}

TEST_F(QueuedMemories, OfMorePiecesThanAreKeptApartMayBeAnywhere) {
  for (int i = 0; i < 100; ++i) copy(first_, {});
  for (std::uintptr_t piece = 0; piece <= QueuedMemory::kMost; ++piece)
    queued_.note({memory(0x10000 + piece * 0x100, 0x100)}, first_, gpu_);

  queued_.wait_for(Address{0x1});

  EXPECT_TRUE(is_over(first_));
}

}  // namespace
}  // namespace polypath::preload::queued_memory_test
