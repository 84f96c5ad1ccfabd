#pragma once
// The bytes of a GPU's memory: an anonymous file of the kernel (memfd) that other processes of the
// same user may map as well. It has no name in any folder, and goes with the last process that maps
// it, however that process ends.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/units.h"

namespace polypath::standin {

/// What another process needs to know to map a segment. Plain bytes: it travels in IPC handles.
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
  /// it is no more: descriptors are used again, so what is found there is asked for its name.
  static std::shared_ptr<Segment> open(const SegmentName& name);

  /// What the names of this process's segments have in common.
  static std::uint64_t nonce_of_this_process();

  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment();

  /// Where this process reads and writes them.
  [[nodiscard]] std::byte* bytes() const { return bytes_; }
  [[nodiscard]] const SegmentName& name() const { return name_; }
  /// Overwrites what was ever written, for whoever still reads it.
  void spoil();

 private:
  Segment(const SegmentName& name, int file);

  SegmentName name_;
  int file_;
  std::byte* bytes_;
};

}  // namespace polypath::standin
