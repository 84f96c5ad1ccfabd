#pragma once
// Memory of another process that the program has mapped. What is said of the mapping is a handle of
// other memory than it really has, so that what a copy brings says which mapping it has used.

#include "api/preload/imports/sharing_process.h"
#include "driver/cuda/contexts.h"
#include "driver/cuda/imports.h"
#include "standin/peer_contents.h"
#include "support/layers.h"

namespace polypath::test {

constexpr Bytes kSize = 16_MiB;
constexpr Bytes kCopied = 8_MiB;

class ImportedMemoryTest : public SharingProcess {
 protected:
  ImportedMemoryTest() { (void)journal(); }

  /// What is said of a mapping in gpu1's context, as one of memory with the contents of a seed.
  cuda::ImportedMemory memory(int seed, Address base, int owner = 0) {
    cuda::ImportedMemory made{base, kSize, exporter_.memory(kSize, seed), context_of(1), owner};
    made.id = id_of(base);
    return made;
  }
  cuda::ImportedMemory memory(int seed = 1) { return memory(seed, base_); }

  static bool exported() { return true; }
  static Contents contents(int seed) {
    return peer_contents(kSize.value, static_cast<std::uint32_t>(seed));
  }

  Exporter exporter_{0};
  Address base_ = map(1, exporter_.memory(kSize, 0));  ///< the program's own mapping
};

}  // namespace polypath::test
