#pragma once
// Host memory of the program that it has registered in a way that not every GPU may write to it, or
// read it.
//
// The driver takes such memory for pinned memory like any other, and does not say how it was
// registered: the calls are seen here. Cost: a look at a number where there is none.

#include <atomic>
#include <map>
#include <mutex>

#include "driver/driver.h"

namespace polypath::preload {

/// Thread-safe.
class RegisteredMemory {
 public:
  /// Made when first asked for, and never destroyed.
  static RegisteredMemory& of_process();

  /// The driver has registered it with these flags.
  void registered(Address begin, Bytes bytes, unsigned flags) noexcept;
  /// The driver has taken back what began there.
  void unregistered(Address begin) noexcept;
  /// True if copies of any GPU may write to, or read, the memory at `address`.
  [[nodiscard]] bool may_be_used(Address address, bool written);

 private:
  struct Range {
    Bytes size;
    bool readable;
  };

  std::atomic<std::size_t> ranges_{0};
  std::mutex mutex_;
  std::map<Address, Range> by_begin_;
};

}  // namespace polypath::preload
