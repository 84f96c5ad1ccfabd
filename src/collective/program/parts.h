#pragma once
// Elements divided among ranks, and into pieces: as evenly as whole elements go. Of E elements in n
// parts the first E mod n have one more.

#include "core/units.h"

namespace polypath::collective {

/// A range of a memory.
struct Part {
  Bytes offset;
  Bytes bytes;
  [[nodiscard]] Bytes end() const { return offset + bytes; }
};

/// Part `number` of `count`. `element` divides the range.
inline Part part_of(const Part& range, int number, int count, Bytes element) {
  const std::uint64_t elements = range.bytes.value / element.value;
  const auto i = static_cast<std::uint64_t>(number), n = static_cast<std::uint64_t>(count);
  const std::uint64_t most = elements / n + 1, larger = elements % n;
  const std::uint64_t first = i < larger ? i * most : larger * most + (i - larger) * (most - 1);
  return {range.offset + element * first, element * (i < larger ? most : most - 1)};
}

/// Pieces of at most `most` bytes that a range of whole elements goes into, at least one.
inline int pieces_of(Bytes bytes, Bytes most, Bytes element) {
  const std::uint64_t whole = most.value / element.value > 0 ? most.value / element.value : 1;
  const std::uint64_t elements = bytes.value / element.value;
  return elements == 0 ? 1 : static_cast<int>((elements + whole - 1) / whole);
}

}  // namespace polypath::collective
