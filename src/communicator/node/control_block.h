#pragma once
// Information that the ranks of a node share about their calls: one block of shared memory per
// communicator and node. Nothing here waits, and nothing here takes a lock.
//
// Call s of rank r is published twice, with N = kCalls:
//
//   stamp   [s mod N][r]   24 bits of s, 40 bits of the hash of r's calls 1 … s   8 bytes
//   record  [r][s mod N]   s and the call itself, for messages                   96 bytes
//
// The stamps of one call lie side by side, those of eight ranks in one cache line: to publish and
// to compare is to write and to read one line. Stamps are written and read in one order that all
// ranks agree on (sequential consistency). So of two ranks that both write theirs and then look for
// the other's, one at least sees the other's.
//
// Behind them lie the agreement ring and the handle board (agreement_ring.h, handle_board.h).
//
// Rings wrap: a rank may be many calls ahead of another. The number in a stamp or a record tells
// the reader whether it still belongs to the call that was asked for.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "communicator/node/agreement_ring.h"
#include "communicator/node/call_record.h"
#include "communicator/node/handle_board.h"
#include "communicator/node/named_memory.h"
#include "core/error.h"

namespace polypath::communicator {

/// The n-th call of a communicator, counted from 1.
using CallNumber = std::uint64_t;

/// A call as it is compared.
struct Stamp {
  static constexpr int kHashBits = 40;

  std::uint64_t bits = 0;

  static Stamp of(CallNumber call, std::uint64_t hash) {
    return {call << kHashBits | hash >> (64 - kHashBits)};
  }
  bool operator==(const Stamp&) const = default;
  /// True if both are of the same call number, even if the operations differ.
  [[nodiscard]] bool is_same_call(Stamp other) const {
    return bits >> kHashBits == other.bits >> kHashBits;
  }
};

/// Why a communicator is of no more use.
struct Abort {
  int rank = -1;  ///< the rank that aborted
  ErrorCode code = ErrorCode::communicator;
  std::string why;
};

/// Ranks are those of the node, counted from 0.
class ControlBlock {
 public:
  static constexpr std::size_t kCalls = 1024;

  /// The size of a block for so many ranks.
  static std::size_t bytes_for(int ranks);
  ControlBlock(NamedMemory memory, int ranks);

  [[nodiscard]] int ranks() const { return ranks_; }

  /// A rank's calls must be published one after another, without a gap.
  void publish(int rank, CallNumber call, Stamp stamp, const CallWords& words);
  /// The rank's stamp in the slot of that call: perhaps of another call.
  [[nodiscard]] Stamp stamp_of(int rank, CallNumber call) const;
  /// None if it has not come or is overwritten.
  [[nodiscard]] std::optional<CallRecord> call_of(int rank, CallNumber call) const;
  /// The latest call of a rank; 0 before the first.
  [[nodiscard]] CallNumber entered(int rank) const;

  /// The first rank to give up says why. False if another rank was faster.
  bool abort(int rank, ErrorCode code, const std::string& why);
  [[nodiscard]] bool is_aborted() const;
  [[nodiscard]] std::optional<Abort> aborted() const;

  /// The agreement ring and the handle board, as a rank sees them. There is one of each per rank,
  /// for all time.
  [[nodiscard]] AgreementRing offers(int rank) const;
  [[nodiscard]] HandleBoard notices(int rank) const;

  /// All that the rank has queued is over up to and with that call; or for good, independent of the
  /// call.
  void note_over(int rank, CallNumber call);
  void note_settled(int rank);
  /// True if nothing that the rank has queued for its calls may still run. Where the communicator
  /// is aborted that is final.
  [[nodiscard]] bool is_settled(int rank) const;

  /// This rank makes no more calls.
  void leave(int rank);
  [[nodiscard]] bool has_left(int rank) const;
  /// False if its process has ended.
  [[nodiscard]] bool lives(int rank) const;

 private:
  struct Header;
  struct Seat;
  struct Record;

  [[nodiscard]] Header& header() const;
  [[nodiscard]] Seat& seat(int rank) const;
  [[nodiscard]] std::atomic<std::uint64_t>& stamp_at(int rank, CallNumber call) const;
  [[nodiscard]] Record& record_at(int rank, CallNumber call) const;
  [[nodiscard]] std::byte* behind_records() const;

  NamedMemory memory_;
  int ranks_;
};

}  // namespace polypath::communicator
