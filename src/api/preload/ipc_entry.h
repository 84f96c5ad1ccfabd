#pragma once
// The description of an exported allocation that other processes may map, as bytes in a file.

#include <cstdint>
#include <optional>
#include <string>

#include "core/process_identity.h"
#include "core/units.h"
#include "driver/cuda/cuda_types.h"

namespace polypath::preload {

struct ExportedMemory {
  cuda::IpcHandle handle;
  ProcessIdentity exporter;
  cuda::GpuUuid owner;           ///< the GPU that has the bytes
  std::uint64_t base = 0;        ///< address in the exporter
  Bytes size;                    ///< of the whole allocation
  std::uint64_t generation = 0;  ///< CUDA's number of the allocation, never given twice

  bool operator==(const ExportedMemory&) const = default;
};

/// The entry's bytes, with a version and a checksum.
std::string encode(const ExportedMemory& memory);
/// The entry in `bytes`; none if they are anything else than what encode makes.
std::optional<ExportedMemory> decode(const std::string& bytes);
/// The name of the file for a handle: the same for the same handle, but perhaps for others as well.
std::string entry_name(const cuda::IpcHandle& handle);
/// The bytes of every entry.
std::size_t entry_size();

}  // namespace polypath::preload
