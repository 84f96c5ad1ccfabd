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
/// GPUs copy the first of so many while later ones are planned: 4096 of 64 KiB took two H200s 4.8
/// ms in such groups (results/h200x2/blocks_beside_batch.json).
inline constexpr std::size_t kPiecesTogether = 1024;

/// Copies that go as one stream of bytes.
struct PieceSet {
  /// The ends of pieces that are planned and enqueued together: those of its last ones.
  struct Group {
    std::size_t members_end = 0;
    std::size_t pieces_end = 0;
  };

  std::vector<std::size_t> members;  ///< numbers of the copies, in order
  /// By piece its source and its destination, as its program numbers its buffers.
  std::vector<Address> buffers;
  std::vector<Bytes> sizes;
  Bytes bytes;                ///< their sum
  std::vector<Group> groups;  ///< of kPiecesTogether pieces, the last of fewer
};

/// Pieces of a set that are planned and enqueued together.
struct PieceGroup {
  std::span<const std::size_t> members;
  std::span<const Address> buffers;
  std::span<const Bytes> sizes;
};

PieceGroup group_of(const PieceSet& set, std::size_t number);

/// The pieces among the copies that are marked as such; none if they do not go together, or there
/// are too few of them. A piece fits into a staging slot of `slot` bytes. Whether copies depend on
/// each other is not looked at: that takes longest (copy_set.h).
std::optional<PieceSet> find_pieces(std::span<const SetMember> members, Bytes slot);

}  // namespace polypath::engine
