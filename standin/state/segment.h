#pragma once
// The bytes of a GPU's memory: an anonymous file of the kernel (memfd) that other processes of the
// same user may map as well. It has no name in any folder, and goes with the last process that maps
// it, however that process ends.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/units.h"

namespace polypath::standin {

/// The data that another process needs to map a segment. Plain bytes: it travels in IPC handles.
struct SegmentName {
  std::uint64_t process_nonce = 0;  ///< random, of the process that made it
  std::uint64_t serial = 0;         ///< of the segment in that process, never used again
  std::uint64_t size = 0;           ///< in bytes
  std::int32_t process = 0;
  std::int32_t file = 0;  ///< its descriptor there
};

class Segment {
 public:
  /// New bytes, all zero. Error (out_of_memory) if there is no room or no descriptor left.
  static std::shared_ptr<Segment> create(Bytes size);
  /// The segment of another process; the one object of this process if it is open already. Null if
  /// it is no more: descriptors are used again, so the name of the file found there is checked.
  static std::shared_ptr<Segment> open(const SegmentName& name);
  /// Of an open file, which stays the caller's; null if it is no segment's.
  static std::shared_ptr<Segment> of_file(int file);

  /// The common part of the names of this process's segments.
  static std::uint64_t nonce_of_this_process();

  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment();

  /// The first bytes of it a second time, in place of what lies at `where`; as mmap returns it.
  void* map_at(std::byte* where, Bytes size) const;
  /// Where this process reads and writes them.
  [[nodiscard]] std::byte* bytes() const { return bytes_; }
  [[nodiscard]] const SegmentName& name() const { return name_; }
  /// A descriptor of its own for the file, to be sent to another process; -1: there is none left.
  [[nodiscard]] int duplicate_file() const;
  /// Overwrites all pages that were ever written, for readers that still use them.
  void spoil();

 private:
  Segment(const SegmentName& name, int file);
  /// The one object of this process, or a new one of the file that `open_file` returns.
  template <class OpenFile>
  static std::shared_ptr<Segment> open_once(const SegmentName& name, const OpenFile& open_file);

  SegmentName name_;
  int file_;
  std::byte* bytes_;
};

}  // namespace polypath::standin
