#pragma once
// Pinned memory of the host, of this process alone or shared: pages that are there already, which
// CUDA is told of. Pages that processes share each of them maps and registers with CUDA, where
// their GPUs then find them.

#include <map>
#include <memory>
#include <optional>

#include "core/brief_mutex.h"
#include "core/shared_pages.h"
#include "driver/cuda/contexts.h"
#include "driver/cuda/exported.h"
#include "driver/cuda/host_pages.h"
#include "driver/driver.h"

namespace polypath::cuda {

/// Thread-safe.
class PinnedMemory {
 public:
  explicit PinnedMemory(Contexts& contexts) : cuda_(functions()), contexts_(contexts) {}

  /// A context must be current.
  Address allocate(Bytes bytes);
  /// In pages that other processes can map.
  Address allocate_shared(Bytes bytes);
  /// Frees what either returned.
  void free(Address address);
  /// The pages of allocate_shared() that the address lies in.
  [[nodiscard]] std::optional<ExportedPages> find_shared(Address address);

  /// Pages of another process, registered here.
  std::unique_ptr<SharedPages> open(const SharedPages::Name& name);
  /// Gives back shared pages. A GPU may still use what CUDA does not let go of: that stays.
  void release(std::unique_ptr<SharedPages> pages);

 private:
  void register_pages(const SharedPages& pages);

  const Functions& cuda_;
  Contexts& contexts_;
  BriefMutex mutex_;
  std::map<Address, std::unique_ptr<HostPages>> own_;
  std::map<Address, std::unique_ptr<SharedPages>> shared_;
};

}  // namespace polypath::cuda
