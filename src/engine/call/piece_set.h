#pragma once
// Which copies of several that are asked for together may be planned as one stream of bytes
// (plan/pieces/piece_planner.h); arithmetic only.
//
// They go from the same place to the same other one, on the same stream, none of the set's copies
// depends on another one, and nothing else of the set has a plan of its own. So the program cannot
// observe that they run beside each other and beside the stream's other copies. Copies that
// continue each other at both ends become one piece first.

#include <optional>
#include <span>
#include <vector>

#include "engine/call/copy_set.h"

namespace polypath::engine {

/// Less is not worth a copy into a staging slot and one out of it.
inline constexpr Bytes kSmallestPiece = 4_KiB;
/// A larger copy may be split by itself. It may still be among pieces, if there are more of them.
inline constexpr Bytes kLargestPiece = 2_MiB;
inline constexpr std::size_t kFewestPieces = 4;

/// Copies that are planned as one.
struct PieceSet {
  std::vector<std::size_t> members;  ///< numbers of the copies, in order
  /// By piece its source and its destination, as its program numbers its buffers.
  std::vector<Address> buffers;
  std::vector<Bytes> sizes;
  Bytes bytes;  ///< their sum
};

/// The pieces among the copies that are marked as such; none if they do not go together, or there
/// are too few of them. A piece fits into a staging slot of `slot` bytes. Whether copies depend on
/// each other is not looked at: that takes longest (copy_set.h).
std::optional<PieceSet> find_pieces(std::span<const SetMember> members, Bytes slot);

}  // namespace polypath::engine
