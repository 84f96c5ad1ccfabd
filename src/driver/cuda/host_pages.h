#pragma once
// Memory of the host whose pages are all there.

#include <cstddef>

#include "core/units.h"

namespace polypath::cuda {

/// Large pages where the system has them.
class HostPages {
 public:
  /// begin() is null if there is no room.
  explicit HostPages(Bytes bytes);
  HostPages(const HostPages&) = delete;
  HostPages& operator=(const HostPages&) = delete;
  ~HostPages();

  [[nodiscard]] void* begin() const { return begin_; }

 private:
  void* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  void* begin_ = nullptr;
};

}  // namespace polypath::cuda
