#pragma once
// MPI's datatypes: as elements of ours, and as ranges of memory.

#include <optional>

#include "model/reduction.h"
#include "mpi/library.h"

namespace polypath::mpi {

/// A predefined datatype whose elements lie side by side.
struct Element {
  ElementType type = ElementType::uint8;  ///< of this many bytes; what is reduced is of this type
  int values = 1;                         ///< of that type; more than one of a type such as complex
  bool is_number = false;                 ///< sums of it are sums of its values
  bool is_real = false;                   ///< products, maxima and minima too

  [[nodiscard]] Bytes bytes() const { return bytes_of(type) * static_cast<std::uint64_t>(values); }
};

/// None for types that programs have made, and for those with gaps between elements.
std::optional<Element> element_of(const Library& library, Handle type);

/// Elements in memory, from their first byte to their last one, as offsets from their address.
struct Range {
  Count begin = 0, end = 0;

  [[nodiscard]] bool is_empty() const { return begin >= end; }
  [[nodiscard]] Range with(const Range& other) const;
};
Range range_of(const Library& library, Handle type, Count count);
/// From one element to the next one.
Count extent_of(const Library& library, Handle type);

}  // namespace polypath::mpi
