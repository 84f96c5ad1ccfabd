#pragma once
// Files of our own in a program that has its own.

#include <cstdint>
#include <utility>

#include "core/layers.h"

namespace polypath {

/// A file descriptor that closes itself; -1 if there is none.
///
/// For a moment only: the program may close any number that it has not opened itself, and open a
/// file of its own under it. A descriptor that is kept may refer to another file the next time.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();

  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

/// True if this process may make a file that large. Where it may not (RLIMIT_FSIZE) trying ends the
/// process by a signal.
bool may_write_files_of(std::uint64_t bytes);

}  // namespace polypath
