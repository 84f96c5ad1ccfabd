#pragma once
// Memory at virtual addresses (cuMemCreate, cuMemMap) that this process hands to others: a range of
// mappings without a gap, by a file for each of them.
//
// The files are made when another process asks for them: an open file would keep memory that the
// program gives back. Between the offer and that the program may have unmapped the memory, and have
// other memory there; CUDA's numbers of mappings, which are never given twice, tell.

#include <map>
#include <memory>
#include <vector>

#include "core/brief_mutex.h"
#include "core/descriptor.h"
#include "core/file_server.h"
#include "driver/cuda/mapped_run.h"
#include "driver/driver.h"

namespace polypath::cuda {

/// Under which a range is known to the other processes.
struct MappingOffer {
  FileServerName server = {};
  std::uint64_t number = 0;
};

/// Thread-safe.
class MappingExports {
 public:
  MappingExports() = default;
  MappingExports(const MappingExports&) = delete;
  MappingExports& operator=(const MappingExports&) = delete;

  /// This process's, never destroyed: its thread may be asked at any time.
  static MappingExports& of_process();

  /// Offers the mappings, under the same number as before if they are the same. They can be asked
  /// about in the context. Error (unsupported) if files cannot be handed out here.
  MappingOffer offer(const std::vector<MemoryPart>& parts, ContextPointer context);
  /// References to the memory of an offer of this very process; none if it is not there any more.
  [[nodiscard]] std::vector<MemoryReference> references(std::uint64_t number);

 private:
  struct Offer {
    std::vector<MemoryPart> parts = {};
    ContextPointer context = nullptr;
  };

  [[nodiscard]] Offer offer_of(std::uint64_t number);
  [[nodiscard]] std::vector<Descriptor> files(std::uint64_t number);

  BriefMutex mutex_;
  std::map<std::uint64_t, Offer> offers_;
  std::uint64_t last_ = 0;
  std::unique_ptr<FileServer> server_;
};

/// References to memory of another process by its files, each of so many bytes. Error (driver).
std::vector<MemoryReference> import_files(const std::vector<Descriptor>& files, Bytes each);

}  // namespace polypath::cuda
