#pragma once
// Sums in the order of the ranks: S = ((x0 ∘ x1) ∘ x2) ∘ … of the values that one rank holds or has
// been sent. Rounding depends on the order, so that all ranks which keep to this order have the
// same bits.
//
// No value is copied for it. One kernel does three operands or more, up to kMostOperands.
// Otherwise, because sums and products do not change when their two sides are exchanged: where the
// result has to be where x_k is, S of those before it is added to x_k, and then the others are.

#include <optional>
#include <vector>

#include "collective/program/composer.h"

namespace polypath::collective {

/// One of the values.
struct Operand {
  Slice at;
  bool may_change = false;  ///< it may be overwritten; scratch memory, or an output
};

/// Reduces `operands`, of one GPU and in the order of their ranks, and returns where the result is:
/// in `result`, which is one of the operands, or if there is none in one that may change, or the
/// only one. Of operands two or more, one of the first two may change.
Slice fold(Composer& composer, const std::vector<Operand>& operands, Bytes bytes,
           std::optional<Slice> result = std::nullopt);

}  // namespace polypath::collective
