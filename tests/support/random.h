#pragma once
// Numbers for property tests: the same from the same seed on every platform.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/layers.h"

namespace polypath::test {

/// splitmix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  /// A whole number from `least` to `most`; the modulo's bias does not matter here.
  std::uint64_t between(std::uint64_t least, std::uint64_t most) {
    return least + next() % (most - least + 1);
  }
  int integer(int least, int most) {
    return least + static_cast<int>(between(0, static_cast<std::uint64_t>(most - least)));
  }
  /// True in `percent` of a hundred cases.
  bool chance(unsigned percent) { return between(0, 99) < percent; }
  std::size_t index(std::size_t size) { return static_cast<std::size_t>(between(0, size - 1)); }
  template <class Element>
  const Element& pick(const std::vector<Element>& elements) {
    return elements[index(elements.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace polypath::test
