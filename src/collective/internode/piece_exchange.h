#pragma once
// How the messages of one piece go between GPUs of different nodes.

#include <vector>

#include "driver/driver.h"

namespace polypath::collective {

/// The messages that go from this rank's GPU to ranks of other nodes at the same time, and those
/// that come. Both ends of a message say the same size, which may be 0.
struct NodeMessages {
  struct Given {
    std::vector<int> to;
    Address from;
    Bytes bytes;
  };
  struct Taken {
    int from = 0;
    Address to;
    Bytes bytes;
  };
  std::vector<Given> given = {};
  std::vector<Taken> taken = {};
};

/// Slots are used in turn, each by start() and then finish() in one stream.
class PieceExchange {
 public:
  static constexpr int kSlots = 4;

  PieceExchange() = default;
  PieceExchange(const PieceExchange&) = delete;
  PieceExchange& operator=(const PieceExchange&) = delete;
  virtual ~PieceExchange() = default;

  /// The messages start after the work in the stream.
  virtual void start(int slot, const NodeMessages& messages, StreamHandle stream) = 0;
  /// Later work in the stream comes after all messages, with the received bytes in their places.
  virtual void finish(int slot, StreamHandle stream) = 0;
  /// True if the messages are work of the stream itself: a piece is best sent as a whole then.
  [[nodiscard]] virtual bool is_in_stream() const { return false; }
};

}  // namespace polypath::collective
