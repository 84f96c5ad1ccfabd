#pragma once
// Memory of the host that processes of one user share: written by one, read by others.
//
// It is a file without a name (memfd_create), which others open by its owner's number and its own
// (/proc/OWNER/fd/FILE). So it is gone with the last process that has it, however that ends, and
// neither /dev/shm nor the 64 MiB that containers usually give it are involved. It is sealed: no
// process can shorten it, so that no access raises SIGBUS. Its pages are there from the start, on
// the NUMA node of the thread that makes it.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/process_identity.h"
#include "core/units.h"

namespace polypath {

class SharedPages {
 public:
  /// By which others find it; of plain numbers, so that it can be sent as bytes.
  struct Name {
    ProcessIdentity owner;
    std::int64_t file = -1;    ///< its number in the owner
    std::uint64_t device = 0;  ///< which file that is, should the number come to be another one's
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
  };

  /// Nothing but zeros. Error (out_of_memory) if there is no room, (unsupported) if the system has
  /// no such files.
  static std::unique_ptr<SharedPages> make(Bytes bytes);
  /// Maps the pages that another process has made, or this one. Error (driver) if it has freed it
  /// or ended, is of another container or user.
  static std::unique_ptr<SharedPages> open(const Name& name);
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;
  ~SharedPages();

  /// At the beginning of a large page.
  [[nodiscard]] void* begin() const { return begin_; }
  [[nodiscard]] const Name& name() const { return name_; }

 private:
  SharedPages(int file, const Name& name);

  int file_;
  Name name_;
  void* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  void* begin_ = nullptr;
};

}  // namespace polypath
