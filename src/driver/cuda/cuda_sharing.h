#pragma once
// Memory that processes share: allocations that cuMemAlloc made by handles of CUDA's (CUDA IPC),
// memory at virtual addresses by files, and pinned memory as pages that each of them maps.

#include <map>
#include <memory>
#include <vector>

#include "core/brief_mutex.h"
#include "core/shared_pages.h"
#include "driver/cuda/contexts.h"
#include "driver/cuda/cuda_gpus.h"
#include "driver/cuda/cuda_memory.h"
#include "driver/cuda/exported.h"
#include "driver/cuda/imports.h"
#include "driver/cuda/mapping_imports.h"
#include "driver/driver.h"

namespace polypath::cuda {

/// Thread-safe. The public functions are those of Driver with the same names.
class CudaSharing {
 public:
  CudaSharing(const CudaGpus& gpus, Contexts& contexts, CudaMemory& memory);

  ExportedMemory export_memory(Address address);
  std::vector<MemoryPart> shareable_parts(Address begin, Bytes bytes);
  ExportedMemory export_range(const std::vector<MemoryPart>& parts);
  Address import_memory(const ExportedMemory& memory, PlaceId gpu);
  void release_import(Address address);
  [[nodiscard]] bool release_may_wait(Address address);

 private:
  [[nodiscard]] Address import_mappings(const ExportedMemory& memory, PlaceId gpu);
  [[nodiscard]] Address import_device(const ExportedMemory& memory, PlaceId gpu);
  [[nodiscard]] Address import_pages(const ExportedMemory& memory);
  [[nodiscard]] int owner_of(const GpuUuid& gpu) const;
  [[nodiscard]] Address open(const ExportedAllocation& shared, int gpu);

  const Functions& cuda_;
  const CudaGpus& gpus_;
  Contexts& contexts_;
  CudaMemory& memory_;
  MappingImports mappings_{gpus_};
  Imports& imports_ = Imports::of_process();
  BriefMutex mutex_;
  std::multimap<Address, Address> opened_;  ///< addresses of imports, and where each was mapped
  std::map<Address, std::unique_ptr<SharedPages>> opened_pages_;
};

}  // namespace polypath::cuda
