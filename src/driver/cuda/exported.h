#pragma once
// The message between processes about memory that they share: the bytes of ExportedMemory. Their
// number tells which of the three it is.

#include <cstdint>
#include <cstring>

#include "core/process_identity.h"
#include "core/shared_pages.h"
#include "driver/cuda/cuda_types.h"
#include "driver/cuda/mapping_exports.h"
#include "driver/driver.h"

namespace polypath::cuda {

/// Of a GPU, by a handle of CUDA's.
struct ExportedAllocation {
  IpcHandle handle;
  GpuUuid gpu;
  ProcessIdentity exporter;
  std::uint64_t base = 0;    ///< of the allocation, as the exporter knows it
  std::uint64_t size = 0;    ///< of the allocation
  std::uint64_t offset = 0;  ///< of the address in it
};

/// Of a GPU, at virtual addresses: mappings without a gap, all of one size.
struct ExportedMappings {
  MappingOffer offer;
  GpuUuid gpu;
  ProcessIdentity exporter;
  std::uint64_t each = 0;   ///< bytes of a mapping
  std::uint64_t count = 0;  ///< of mappings
};

/// Of the host.
struct ExportedPages {
  SharedPages::Name pages;
  std::uint64_t base = 0;    ///< where the exporter has them
  std::uint64_t offset = 0;  ///< of the address in them
};
static_assert(sizeof(ExportedMappings) != sizeof(ExportedAllocation));
static_assert(sizeof(ExportedPages) != sizeof(ExportedAllocation));
static_assert(sizeof(ExportedPages) != sizeof(ExportedMappings));

template <class Contents>
ExportedMemory bytes_of(const Contents& contents) {
  ExportedMemory bytes(sizeof contents);
  std::memcpy(bytes.data(), &contents, sizeof contents);
  return bytes;
}

}  // namespace polypath::cuda
