#pragma once
// Paths of machines by name, and shapes of transfers over them.

#include "model/predict.h"
#include "support/hand_machine.h"

namespace polypath::test {

/// The path from `source` to `destination` that is "direct" or meets at the place `via`.
inline Path path_over(const Machine& machine, const std::string& via,
                      const std::string& source = "gpu0", const std::string& destination = "gpu1") {
  const PlaceId from = machine.find_place(source), to = machine.find_place(destination);
  if (via == "direct") return {*machine.find_hop(from, to), {}};
  const PlaceId meeting = machine.find_place(via);
  return {*machine.find_hop(from, meeting), *machine.find_hop(meeting, to)};
}

/// `count` chunks of `size` bytes over the path.
inline PathShape shape_over(const Machine& machine, const std::string& via, Bytes size,
                            std::size_t count = 1) {
  return {path_over(machine, via), std::vector<Bytes>(count, size)};
}

}  // namespace polypath::test
