#pragma once
// Indices into the tables of a Machine, as distinct types so that one cannot be used for another.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "core/layers.h"

namespace polypath {

/// An index into one table; `Tag` says which.
template <class Tag>
struct Id {
  std::int32_t value = -1;

  constexpr auto operator<=>(const Id&) const = default;
  [[nodiscard]] constexpr bool valid() const { return value >= 0; }
  /// The index, for use with the table.
  [[nodiscard]] constexpr std::size_t index() const { return static_cast<std::size_t>(value); }
};

using PlaceId = Id<struct PlaceTag>;
using ResourceId = Id<struct ResourceTag>;

/// An index into the hops, and which GPU makes the copies over a hop between two of them.
struct HopId {
  std::int32_t value = -1;
  bool pulled = false;  ///< by the GPU that receives; else by the one that has the bytes

  constexpr auto operator<=>(const HopId&) const = default;
  [[nodiscard]] constexpr bool valid() const { return value >= 0; }
  [[nodiscard]] constexpr std::size_t index() const { return static_cast<std::size_t>(value); }
};

}  // namespace polypath

template <class Tag>
struct std::hash<polypath::Id<Tag>> {
  std::size_t operator()(polypath::Id<Tag> id) const noexcept {
    return std::hash<std::int32_t>{}(id.value);
  }
};
