#pragma once
// The times of one path as the papers state them ("001" is Sojoodi et al., SC Workshops 2025), to
// compare the exact pipeline with.

#include "model/hockney.h"
#include "support/layers.h"

namespace polypath::test {

/// 001 eq. 1 or 2: all bytes of a leg in one copy.
inline Seconds unpipelined_time(const HockneyPath& path, Bytes bytes) {
  const Seconds first = path.first.latency + bytes / path.first.bandwidth;
  if (!path.second) return first;
  return first + path.staging + path.second->latency + bytes / path.second->bandwidth;
}

/// 001 eq. 13: `chunks` >= 1 equal chunks. A direct path takes eq. 1 for any `chunks`.
inline Seconds pipelined_time(const HockneyPath& path, Bytes bytes, double chunks) {
  if (!path.second) return unpipelined_time(path, bytes);
  const Seconds first = path.first.latency + (bytes / path.first.bandwidth) * (1 / chunks);
  const Seconds second =
      path.staging + path.second->latency + (bytes / path.second->bandwidth) * (1 / chunks);
  const bool first_is_slower = path.first.bandwidth < path.second->bandwidth;
  return first_is_slower ? chunks * first + second : first + chunks * second;
}

}  // namespace polypath::test
