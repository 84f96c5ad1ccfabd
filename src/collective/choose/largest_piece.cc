#include "collective/choose/largest_piece.h"

#include <algorithm>

namespace polypath::collective {

std::optional<int> most_joined(const Algorithm& algorithm, const Program& program) {
  const bool by_slots = std::ranges::any_of(program.buffers(), &ProgramBuffer::is_scratch);
  return by_slots ? std::optional(kPieceSlots / algorithm.fewest_slots) : std::nullopt;
}

Bytes larger_piece(Bytes slot, const CollectiveRequest& request, std::optional<int> joined,
                   double calls) {
  Bytes most = message_bytes(request);
  Bytes piece = std::min(slot, most);
  if (joined) most = std::min(most, slot * static_cast<std::uint64_t>(*joined));
  while (piece * 2 <= most && calls > 1) {
    piece = piece * 2;
    calls /= 2;
  }
  return piece;
}

void join_slots(Tuning& tuning, Bytes slot) { tuning.joined = tuning.piece > slot ? 2 : 1; }

}  // namespace polypath::collective
