#pragma once
// What a peer writes into memory, and so what others must find there.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/layers.h"

namespace polypath::test {

inline std::vector<unsigned char> peer_contents(std::size_t bytes, std::uint32_t seed) {
  std::vector<unsigned char> made(bytes);
  std::uint32_t state = seed * 2654435761U + 1;
  for (unsigned char& byte : made) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<unsigned char>(state >> 24);
  }
  return made;
}

}  // namespace polypath::test
