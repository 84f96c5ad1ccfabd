#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace polypath::sim {

/// Fills memory with a pattern again and again, each round copying all that is there already. Byte
/// by byte it is most of the time of programs that fill much.
inline void repeat(std::byte* begin, std::size_t size, const std::vector<std::byte>& pattern) {
  std::size_t done = std::min(pattern.size(), size);
  std::copy_n(pattern.begin(), done, begin);
  while (done < size) {
    const std::size_t next = std::min(done, size - done);
    std::memcpy(begin + done, begin, next);
    done += next;
  }
}

}  // namespace polypath::sim
