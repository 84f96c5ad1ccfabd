#pragma once
// Whether a program brings every byte of the message to the destination exactly once.

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "model/transfer.h"
#include "support/layers.h"

namespace polypath::test {

/// Success if the ranges are disjoint, not empty, and add up to [0, bytes).
inline testing::AssertionResult cover_once(std::vector<std::pair<Bytes, Bytes>> ranges,
                                           Bytes bytes) {
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

/// The ranges that nodes write to the destination.
inline testing::AssertionResult covers_once(const Program& program, Bytes bytes) {
  std::vector<std::pair<Bytes, Bytes>> ranges;
  for (const Node& node : program.nodes())
    if (node.destination.buffer == kDestinationBuffer)
      ranges.emplace_back(node.destination.offset, node.bytes);
  return cover_once(std::move(ranges), bytes);
}

/// The same of what they read from the source.
inline testing::AssertionResult reads_once(const Program& program, Bytes bytes) {
  std::vector<std::pair<Bytes, Bytes>> ranges;
  for (const Node& node : program.nodes())
    if (node.source.buffer == kSourceBuffer) ranges.emplace_back(node.source.offset, node.bytes);
  return cover_once(std::move(ranges), bytes);
}

}  // namespace polypath::test
