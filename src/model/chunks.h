#pragma once
// Into which chunks a staged path cuts its bytes.
//
// With k equal chunks and both legs equally fast, T = (k+1)(α + b/kβ) + ε: the best k weighs k·α
// against b/kβ. Where the legs differ by a ratio q = β_slow/β_fast < 1, only the chunk that crosses
// the faster leg alone is exposed: the last one if the first leg is slower, else the first one. A
// series c, c·q, c·q², ... at that end lets each small chunk cross the fast leg in the time the
// next one takes on the slow leg, so the exposed time falls from c/β_fast by a factor q per extra
// chunk.

#include <vector>

#include "model/hockney.h"

namespace polypath::model {

struct ChunkBounds {
  /// No chunk is smaller, unless the path carries less in all or `largest`, if it is less than
  /// twice this, leaves no choice.
  Bytes smallest;
  Bytes largest;  ///< a staging slot, at least 512 bytes: no chunk is larger
};

/// The chunk sizes of a staged path: about `count` chunks, within the bounds, adding up to `bytes`;
/// with `taper` extra small chunks at the end that is exposed. Sizes other than the last are
/// multiples of 512 bytes so that chunks stay aligned.
std::vector<Bytes> chunk_sizes(const HockneyPath& path, Bytes bytes, double count, int taper,
                               const ChunkBounds& bounds);

/// The real-valued k that minimises the exact pipeline with equal chunks, when every chunk also
/// costs `issue` of CPU time: the larger of the slower leg's α and the issue cost counts per chunk.
double exact_chunk_count(const HockneyPath& path, Bytes bytes, Seconds issue);

}  // namespace polypath::model
