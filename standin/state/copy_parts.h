#pragma once
// Mappings side by side are one range of addresses: a copy goes in parts.

#include <vector>

#include "core/ids.h"
#include "core/units.h"

namespace polypath::standin {

/// Parts of a copy that lie in one mapping at both ends. left_in(address, bytes) is how many of the
/// bytes from an address on lie in one.
template <class Copy, class LeftIn>
std::vector<Copy> parts_in_mappings(const Copy& copy, const LeftIn& left_in) {
  std::vector<Copy> parts;
  for (Bytes done; done < copy.bytes; done += parts.back().bytes) {
    Copy part = copy;
    part.destination = copy.destination + done, part.source = copy.source + done;
    part.bytes = left_in(part.destination, left_in(part.source, copy.bytes - done));
    parts.push_back(part);
  }
  return parts;
}

}  // namespace polypath::standin
