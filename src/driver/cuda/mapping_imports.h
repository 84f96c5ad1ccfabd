#pragma once
// Memory at virtual addresses that is handed from process to process (mapping_exports.h), as this
// one finds and maps it.

#include <map>
#include <memory>
#include <vector>

#include "core/brief_mutex.h"
#include "driver/cuda/cuda_gpus.h"
#include "driver/cuda/exported.h"
#include "driver/cuda/mapped_run.h"
#include "driver/driver.h"

namespace polypath::cuda {

/// The mappings of a range of a GPU's memory, whole and in order. None if it has gaps, is of
/// several GPUs, or has mappings that cannot be handed out together: of several sizes, made without
/// file handles, too many, or memory of pools.
std::vector<MemoryPart> mappings_of(Address begin, Bytes bytes);

/// Thread-safe.
class MappingImports {
 public:
  explicit MappingImports(const CudaGpus& gpus) : gpus_(gpus) {}

  /// Maps it for `gpu`, and for others of this process that reach the owner, whose number may be
  /// unknown (imports.h). Also memory of this very process: the program may have opened it to fewer
  /// GPUs. Error (driver) if it is not there any more, or cannot be mapped.
  Address import(const ExportedMappings& shared, int gpu, int owner);
  /// True if it was mapped there and is no more.
  bool release(Address base);

 private:
  [[nodiscard]] std::vector<Device> users(int gpu, int owner) const;

  const CudaGpus& gpus_;
  BriefMutex mutex_;
  std::map<Address, std::unique_ptr<MappedRun>> mapped_;
};

}  // namespace polypath::cuda
