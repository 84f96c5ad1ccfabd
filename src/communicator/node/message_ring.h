#pragma once
// Decides how the two ends of a message do it, of those that one rank of a node sends another one.
// No rank waits for another.
//
// Both ends count their messages, so that the n-th of one end is the n-th of the other. The end
// that comes to a message first decides, by one atomic exchange: `made` if it offers something,
// `left` if not. The second end finds the decision, and what the first one has offered. So both do
// the same, and neither needs to know when the other comes.
//
// Rings wrap: with R slots, message n has the slot of n − R. An end that is R messages ahead has no
// slot until the other end has passed n − R. It leaves the message, and adds a lap to the word of
// n − R: the other end finds there that n is left, too.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "communicator/node/shared_words.h"

namespace polypath::communicator {

/// One end of the messages in one direction. Not thread-safe.
template <class Shared>
class MessageRingOn {
 public:
  enum class End : std::size_t { sender, receiver };
  /// What an end says of a message.
  struct Offer {
    std::uint64_t memory = 0;
    std::uint64_t bytes = 0;
  };
  struct Decision {
    std::uint64_t number = 0;  ///< of the message, counted from 1
    bool is_made = false;      ///< both ends make it, or both leave it
    bool is_first = false;     ///< this end has decided
    Offer other = {};          ///< the first end's, for the second one
  };

  static constexpr std::size_t bytes();
  /// `memory` is shared by both ends, bytes() of zeros at first, and outlives this.
  MessageRingOn(void* memory, End end)
      : memory_(static_cast<Memory*>(memory)), own_(static_cast<std::size_t>(end)) {}

  /// The number of the next message.
  [[nodiscard]] std::uint64_t next() const { return number_ + 1; }
  /// False if this end is so far ahead that the next message has no slot.
  [[nodiscard]] bool has_slot() const;
  /// The next message. The end that is first leaves it if it is `unwilling` or has no slot.
  Decision decide(const Offer& mine, bool unwilling);
  /// From now on both ends find that one of them wants no more messages.
  void close();
  [[nodiscard]] bool is_closed() const;
  /// True if the other end has come to the message.
  [[nodiscard]] bool has_other_come(std::uint64_t number) const;

 private:
  template <class Value>
  using Word = typename Shared::template Word<Value>;
  static constexpr std::uint64_t kSlots = Shared::kMessages;
  /// More laps fit than messages can be queued.
  static constexpr std::uint64_t kLap = std::uint64_t{1} << 48;
  enum State : std::uint64_t { open, made, left };

  struct SharedOffer {
    Word<std::uint64_t> memory, bytes;
  };
  struct Slot {
    Word<std::uint64_t> state;  ///< kLap·laps + 4·number + State; each lap's message is left
    std::array<SharedOffer, 2> offers;
  };
  struct alignas(64) Passed {
    Word<std::uint64_t> number, is_last;
  };
  struct Memory {
    /// By end: the last message that it is done with here, and whether it wants no more.
    std::array<Passed, 2> passed;
    std::array<Slot, kSlots> slots;
  };

  [[nodiscard]] Slot& slot(std::uint64_t number) const { return memory_->slots[number % kSlots]; }
  static std::uint64_t number_of(std::uint64_t state) { return state % kLap / 4; }
  /// The last message that a slot's word decides.
  static std::uint64_t last_of(std::uint64_t state) {
    return number_of(state) + kSlots * (state / kLap);
  }
  std::uint64_t offer(Slot& here, const Offer& mine, bool unwilling);
  [[nodiscard]] std::size_t other() const { return 1 - own_; }

  Memory* memory_;
  std::size_t own_;
  std::uint64_t number_ = 0;
};

template <class Shared>
constexpr std::size_t MessageRingOn<Shared>::bytes() {
  return sizeof(Memory);
}

using MessageRing = MessageRingOn<SharedWords>;
extern template class MessageRingOn<SharedWords>;

}  // namespace polypath::communicator
