#pragma once
// The memory that the fake driver knows, as a test says.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace polypath::preload {

struct FakeMemory {
  unsigned long long base = 0;
  std::size_t size = 0;
  unsigned long long buffer_id = 0;
  int gpu = 0;
};

}  // namespace polypath::preload
