#pragma once
// What the ranks of a node share about the messages between two of them: for each pair a handle
// board, and for each direction a message ring; and which ranks are still there.

#include <cstddef>

#include "communicator/communicator.h"
#include "communicator/node/handle_board.h"
#include "communicator/node/message_ring.h"
#include "communicator/node/named_memory.h"

namespace polypath::collective {

class MessageSegment {
 public:
  /// All ranks make theirs at the same time, and wait for each other. Errors: those of the
  /// exchange; communicator if a rank cannot share memory with the others.
  explicit MessageSegment(Communicator& communicator);

  /// Those that this rank shares with `peer`. There is one of each, for all time.
  [[nodiscard]] HandleBoard handles(int peer) const;
  [[nodiscard]] MessageRing sent_to(int peer) const;
  [[nodiscard]] MessageRing received_from(int peer) const;

  /// This rank makes no more messages, and nothing of its messages is queued.
  void leave();
  [[nodiscard]] bool has_left(int rank) const;
  /// False if its process has ended.
  [[nodiscard]] bool lives(int rank) const;

 private:
  struct Seat;

  [[nodiscard]] Seat& seat(int rank) const;
  [[nodiscard]] std::byte* pair_with(int peer) const;
  [[nodiscard]] std::byte* ring(int from, int to) const;

  int rank_, size_;
  NamedMemory memory_;
};

}  // namespace polypath::collective
