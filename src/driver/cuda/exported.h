#pragma once
// The message between processes about memory that they share: the bytes of ExportedMemory. Their
// number tells which of the two it is.

#include <cstdint>
#include <cstring>

#include "core/process_identity.h"
#include "core/shared_pages.h"
#include "driver/cuda/cuda_types.h"
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

/// Of the host.
struct ExportedPages {
  SharedPages::Name pages;
  std::uint64_t base = 0;    ///< where the exporter has them
  std::uint64_t offset = 0;  ///< of the address in them
};

template <class Contents>
ExportedMemory bytes_of(const Contents& contents) {
  ExportedMemory bytes(sizeof contents);
  std::memcpy(bytes.data(), &contents, sizeof contents);
  return bytes;
}

}  // namespace polypath::cuda
