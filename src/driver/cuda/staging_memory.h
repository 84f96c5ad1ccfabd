#pragma once
// Staging memory: it is given back without waiting for queued work, as the caller knows that
// nothing uses it any more.

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/brief_mutex.h"
#include "driver/cuda/cuda_gpus.h"
#include "driver/cuda/mapped_memory.h"
#include "driver/cuda/peer_links.h"
#include "driver/driver.h"

namespace polypath::cuda {

/// Thread-safe.
class StagingMemory {
 public:
  StagingMemory(const CudaGpus& gpus, const PeerLinks& peers) : gpus_(gpus), peers_(peers) {}

  /// Memory that was kept by give_back().
  std::optional<Address> take_spare(PlaceId place, Bytes bytes);
  /// New memory of a GPU that can be unmapped. None where GPUs have no such memory, or a user's
  /// would not reach it: the driver then stages copies in its own way, which mapped memory is not
  /// open to.
  std::optional<Address> map(PlaceId place, const StagingUsers& users, Bytes bytes);
  /// An allocation of another kind is staging memory from now on.
  void add(Address address, Bytes bytes);
  /// True if nothing is left to free: mapped memory is gone, other staging memory is kept, because
  /// freeing it would wait for the program.
  bool give_back(Address address, PlaceId place);
  /// All that is kept, with its places, which is no staging memory from now on.
  std::vector<std::pair<Address, PlaceId>> release_spare();

 private:
  /// The users' GPUs other than its own; none if one of them would not reach it.
  [[nodiscard]] std::optional<std::vector<Device>> others(PlaceId place,
                                                          const StagingUsers& users) const;

  const CudaGpus& gpus_;
  const PeerLinks& peers_;
  BriefMutex mutex_;
  std::map<Address, std::unique_ptr<MappedMemory>> mapped_;
  std::map<Address, Bytes> others_;
  std::multimap<std::pair<PlaceId, Bytes>, Address> spare_;  ///< the unused part of these
};

}  // namespace polypath::cuda
