#pragma once
// Whether the copies of a plan bring every byte of the message to the destination exactly once.

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace polypath::test {

/// Success if the ranges of the copies into the destination are disjoint, not empty, and add up to
/// [0, bytes).
inline testing::AssertionResult covers_once(const std::vector<CopyNode>& nodes, Bytes bytes) {
  std::vector<std::pair<Bytes, Bytes>> ranges;
  for (const CopyNode& node : nodes)
    if (node.to == End::destination) ranges.emplace_back(node.offset, node.bytes);
  std::sort(ranges.begin(), ranges.end());
  Bytes end;
  for (const auto& [offset, size] : ranges) {
    if (offset != end || size.value == 0)
      return testing::AssertionFailure() << "a range of " << size.value << " bytes starts at "
                                         << offset.value << ", the last one ended at " << end.value;
    end += size;
  }
  if (end != bytes)
    return testing::AssertionFailure() << end.value << " of " << bytes.value << " bytes arrive";
  return testing::AssertionSuccess();
}

}  // namespace polypath::test
