#pragma once
// The memory of other ranks that a rank uses in a joint program: flags and scratch memory.
//
// Each rank makes its own, and hands it out by exchanges that all ranks take part in, in the same
// order. Of the others' it opens what it uses, when it first does.

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "collective/division/projection.h"
#include "communicator/communicator.h"
#include "driver/driver.h"

namespace polypath {

/// Gives what each rank, in order, has passed to it. Every rank calls it as often as the others.
using AllGather = std::function<std::vector<ExportedMemory>(const ExportedMemory& own)>;
/// That of a communicator, which outlives it.
AllGather all_gather_by(Communicator& communicator);

/// Opens memory of another rank. Errors of the driver say whose it is.
Address import_of_rank(Driver& driver, int owner, const ExportedMemory& memory, PlaceId gpu);

/// How much memory of its own a rank gives to the others.
struct RankMemorySizes {
  int flags_per_pair = kFlagsPerPair;
  Bytes slot;          ///< of scratch memory
  PlaceId flags = {};  ///< where this rank's flags are (flags_place); its GPU if invalid
};

class RankMemory {
 public:
  /// Makes the flags, all 0. Errors of the driver and of the exchange pass through.
  RankMemory(Driver& driver, std::vector<PlaceId> ranks, int rank, const RankMemorySizes& sizes,
             AllGather all_gather);
  RankMemory(const RankMemory&) = delete;
  RankMemory& operator=(const RankMemory&) = delete;
  /// Nothing of any rank that uses it may be queued.
  ~RankMemory();

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
  [[nodiscard]] Address flags() const { return flags_; }
  [[nodiscard]] Bytes flag_bytes() const;
  /// Sets every flag of this rank, for any producer, in no stream. Any thread may.
  void set_flags();

 private:
  /// Slots that one hop fills.
  struct Slots {
    int owner = 0;
    std::size_t number = 0;  ///< among what the owner has handed out
    Bytes offset;
  };

  [[nodiscard]] PlaceId gpu() const { return ranks_[static_cast<std::size_t>(rank_)]; }
  [[nodiscard]] Address make(PlaceId place, Bytes bytes);
  [[nodiscard]] Address make_zeros(PlaceId place, Bytes bytes);
  [[nodiscard]] PlaceId flags_at() const { return sizes_.flags.valid() ? sizes_.flags : gpu(); }
  void exchange(const std::vector<Address>& own);
  void place_mailboxes(const RankPart& part);
  void place_slots(const Machine& machine, const std::vector<ScratchUse>& scratch);
  [[nodiscard]] Address open(int owner, std::size_t number);
  [[nodiscard]] Address known(int owner, std::size_t number) const;
  void give_back() noexcept;

  Driver& driver_;
  std::vector<PlaceId> ranks_;
  int rank_;
  RankMemorySizes sizes_;
  AllGather all_gather_;
  std::vector<Address> own_;                         ///< in the order of the exchanges
  Address flags_;                                    ///< the first of them
  std::vector<std::vector<ExportedMemory>> handed_;  ///< by rank; the first is its flags
  std::map<std::pair<int, std::size_t>, Address> opened_;
  std::map<HopId, Slots> slots_;
  std::map<Bytes, std::vector<std::size_t>> mailboxes_;  ///< by size: by rank, as Slots::number
  std::mutex mutex_;                                     ///< of the next one
  std::vector<Address> own_mailboxes_;
};

}  // namespace polypath
