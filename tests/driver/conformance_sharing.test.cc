// The conformance suite of conformance.h: memory that is handed out.

#include "core/error.h"
#include "driver/conformance.h"
#include "support/layers.h"

namespace polypath::test {
namespace {

TEST_P(DriverConformance, MemoryThatWasHandedOutIsTheSame) {
  const Contents sent = pattern(kSmall, 1);
  const Address source = allocate(gpu(), sent), destination = allocate(host(), Bytes{kSmall});
  constexpr std::size_t kOffset = 256;

  const ExportedMemory exported = driver().export_memory(source + Bytes{kOffset});
  const Address imported = driver().import_memory(exported, gpu());
  copy(destination, imported, kSmall - kOffset, stream(gpu()));

  EXPECT_TRUE(same_bytes(read(destination, kSmall - kOffset),
                         Contents(sent.begin() + kOffset, sent.end())));
  driver().release_import(imported);
  EXPECT_THROW(driver().release_import(imported), Error);
}

// One process: what it has exported it finds at the address where it has it.
TEST_P(DriverConformance, PinnedMemoryCanBeHandedOut) {
  const Contents sent = pattern(kLarge, 1);
  constexpr std::size_t kOffset = 4096;
  const Address memory = driver().allocate_shareable(host(), Bytes{kLarge});
  const Address source = allocate(gpu(), sent), middle = allocate(peer(), Bytes{kLarge});
  const Address destination = allocate(host(), Bytes{kLarge});
  const StreamHandle writer = stream(gpu()), reader = stream(peer());
  const EventHandle written = event(gpu());

  const Address imported =
      driver().import_memory(driver().export_memory(memory + Bytes{kOffset}), peer());
  copy(memory, source, kLarge, writer);
  driver().record(written, writer);
  driver().wait(reader, written);
  copy(middle, imported, kLarge - kOffset, reader);
  copy(destination, middle, kLarge - kOffset, reader);

  EXPECT_TRUE(same_bytes(read(destination, kLarge - kOffset),
                         Contents(sent.begin() + kOffset, sent.end())));
  driver().release_import(imported);
  driver().free(memory);
}

TEST_P(DriverConformance, BytesThatNameNoMemoryAreRefused) {
  EXPECT_THROW((void)driver().import_memory({std::byte{1}}, gpu()), Error);
}

}  // namespace
}  // namespace polypath::test
