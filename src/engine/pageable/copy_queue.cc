#include "engine/pageable/copy_queue.h"

#include <algorithm>

namespace polypath::engine {
namespace {

constexpr std::uint64_t kPieces = 0xffff'ffff;

std::uint32_t pieces_in(std::uint64_t word) { return static_cast<std::uint32_t>(word & kPieces); }

// A thread that was held up must not take a piece of a copy that has the slot since.
bool is_of(std::uint64_t word, CopyQueue::Ticket ticket) {
  return word >> 32U == (ticket & kPieces);
}

}  // namespace

std::optional<CopyQueue::Ticket> CopyQueue::add(const MemoryCopy& copy, Bytes piece) {
  const Ticket ticket = added_;
  Slot& free = slot(ticket);
  if (free.undone.load(std::memory_order_acquire) != 0) return std::nullopt;
  const auto pieces =
      static_cast<std::uint32_t>((copy.bytes.value + piece.value - 1) / piece.value);
  free.copy = copy, free.piece = piece, free.pieces = pieces;
  free.undone.store(pieces, std::memory_order_release);
  free.untaken.store(ticket << 32U | pieces, std::memory_order_release);
  added_ = ticket + 1;
  return ticket;
}

std::optional<CopyQueue::Piece> CopyQueue::take() {
  for (Ticket ticket = oldest_; ticket < added_; ++ticket) {
    if (auto piece = take_of(ticket)) return piece;
    Ticket passed = ticket;
    oldest_.compare_exchange_strong(passed, ticket + 1);
  }
  return std::nullopt;
}

// The copy stays as it is from the moment that a piece is taken until that is done.
std::optional<CopyQueue::Piece> CopyQueue::take_of(Ticket ticket) {
  Slot& shared = slot(ticket);
  std::uint64_t word = shared.untaken.load(std::memory_order_acquire);
  do {
    if (!is_of(word, ticket) || pieces_in(word) == 0) return std::nullopt;
  } while (!shared.untaken.compare_exchange_weak(word, word - 1, std::memory_order_acq_rel));
  const Bytes offset = shared.piece * std::uint64_t{shared.pieces - pieces_in(word)};
  MemoryCopy part = shared.copy;
  part.destination = part.destination + offset;
  part.source = part.source + offset;
  part.bytes = std::min(shared.piece, part.bytes - offset);
  return Piece{ticket, part};
}

void CopyQueue::note_done(const Piece& piece) {
  slot(piece.ticket).undone.fetch_sub(1, std::memory_order_acq_rel);
}

// Another copy has the slot once this one is done: it is seen as not done while that is being
// added, and as done right after.
bool CopyQueue::is_done(Ticket ticket) const {
  if (ticket + kMost < added_) return true;
  return slot(ticket).undone.load(std::memory_order_acquire) == 0;
}

bool CopyQueue::is_all_done() const {
  return std::ranges::all_of(
      slots_, [](const Slot& each) { return each.undone.load(std::memory_order_acquire) == 0; });
}

bool CopyQueue::has_untaken() const {
  for (Ticket ticket = oldest_; ticket < added_; ++ticket) {
    const std::uint64_t word = slot(ticket).untaken.load(std::memory_order_acquire);
    if (is_of(word, ticket) && pieces_in(word) > 0) return true;
  }
  return false;
}

}  // namespace polypath::engine
