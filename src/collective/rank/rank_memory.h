#pragma once
// The memory of other ranks that a rank uses in a joint program: flags and scratch memory.
//
// Each rank makes its own, and hands it out by exchanges (exchanged_memory.h). A program determines
// what every rank hands out, so that all know what lies where.

#include <map>
#include <span>
#include <vector>

#include "collective/division/projection.h"
#include "collective/rank/awaited_words.h"
#include "collective/rank/exchanged_memory.h"
#include "driver/driver.h"

namespace polypath::collective {

/// How much memory of its own a rank gives to the others.
struct RankMemorySizes {
  int flags_per_pair = kFlagsPerPair;
  Bytes slot;          ///< of scratch memory
  PlaceId flags = {};  ///< where this rank's flags are (flags_place); its GPU if invalid
};

class RankMemory {
 public:
  /// Makes the flags, all 0. Errors of the driver and of the exchange pass through.
  RankMemory(Driver& driver, const std::vector<PlaceId>& ranks, int rank,
             const RankMemorySizes& sizes, AllGather all_gather);
  RankMemory(const RankMemory&) = delete;
  RankMemory& operator=(const RankMemory&) = delete;
  /// Nothing of any rank that uses it may be queued.
  ~RankMemory() = default;

  /// Makes the scratch memory that the parts of a program need and that is not there, and opens
  /// what this rank's part uses. All ranks do so for the same programs in the same order.
  void prepare(const Machine& machine, const RankPart& part);
  /// True if prepare() would exchange nothing.
  [[nodiscard]] bool has_all_for(const RankPart& part) const;
  /// The addresses of a part's buffers, of which the caller's are given; 0 for what it does not
  /// use.
  [[nodiscard]] std::vector<Address> addresses(const RankPart& part,
                                               std::span<const Address> callers) const;
  /// This rank's flags, and how much memory they take.
  [[nodiscard]] Address flags() const { return awaited_.flags(); }
  [[nodiscard]] Bytes flag_bytes() const { return awaited_.flag_bytes(); }
  /// What this rank's queued work waits for.
  [[nodiscard]] AwaitedWords& awaited() { return awaited_; }

 private:
  /// Slots that one hop fills.
  struct Slots {
    int owner = 0;
    std::size_t number = 0;  ///< among what the owner has handed out
    Bytes offset;
  };

  [[nodiscard]] AwaitedWords make_flags(Driver& driver, const RankMemorySizes& sizes);
  void place_mailboxes(const RankPart& part);
  void place_slots(const Machine& machine, const std::vector<ScratchUse>& scratch);

  PlaceId gpu_;
  int rank_, ranks_;
  Bytes slot_;
  ExchangedMemory exchanged_;
  AwaitedWords awaited_;
  std::map<HopId, Slots> slots_;
  std::map<Bytes, std::vector<std::size_t>> mailboxes_;  ///< by size: by rank, as Slots::number
};

}  // namespace polypath::collective
