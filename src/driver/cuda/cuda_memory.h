#pragma once
// Allocations, and what CUDA knows of an address.

#include <map>
#include <optional>

#include "core/brief_mutex.h"
#include "driver/cuda/contexts.h"
#include "driver/cuda/cuda_gpus.h"
#include "driver/cuda/cuda_streams.h"
#include "driver/cuda/imports.h"
#include "driver/cuda/opened_memory.h"
#include "driver/cuda/peer_links.h"
#include "driver/cuda/pinned_memory.h"
#include "driver/cuda/staging_memory.h"
#include "driver/driver.h"

namespace polypath::cuda {

/// CUDA's facts about memory beyond its place.
struct MemoryAccess {
  ContextPointer context = nullptr;  ///< in which it was allocated, if in any
  bool shareable = false;            ///< by handles of the old kind: cuMemAlloc made it
};

/// Thread-safe. The functions are those of Driver with the same names.
class CudaMemory {
 public:
  CudaMemory(const CudaGpus& gpus, Contexts& contexts, const PeerLinks& peers,
             CudaStreams& streams);
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;
  /// Frees all that is left. Does nothing in a forked child.
  ~CudaMemory();

  Address allocate(PlaceId place, Bytes bytes);
  Address allocate_zeros(PlaceId place, Bytes bytes);
  Address allocate_shareable(PlaceId place, Bytes bytes);
  Address allocate_staging(PlaceId place, const StagingUsers& users, Bytes bytes);
  void free(Address address);
  /// As Driver::find_memory, and in the same call which GPUs may use it; of imported memory nothing
  /// is said of that.
  [[nodiscard]] std::optional<MemoryInfo> find(Address address, MemoryAccess* access = nullptr);

  /// What the range is, if it is memory that only some GPUs may use: as OpenedMemory::find.
  [[nodiscard]] std::optional<OpenedMemory> find_opened(Address begin, Bytes bytes);

  [[nodiscard]] PinnedMemory& pinned() { return pinned_; }

 private:
  Address keep(Address address, Bytes bytes, PlaceId place);
  void note(Address address, PlaceId place);
  [[nodiscard]] std::optional<PlaceId> forget(Address address);
  void set_to_zeros(Address address, Bytes bytes, PlaceId gpu);

  const Functions& cuda_;
  const CudaGpus& gpus_;
  Contexts& contexts_;
  CudaStreams& streams_;
  Imports& imports_ = Imports::of_process();
  PinnedMemory pinned_;
  StagingMemory staging_;
  BriefMutex mutex_;
  std::map<Address, PlaceId> allocations_;
};

}  // namespace polypath::cuda
