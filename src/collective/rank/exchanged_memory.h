#pragma once
// Memory that ranks hand out to each other, by exchanges that all of them take part in, in the same
// order. Each piece of memory has a number among those of its owner. Of the others' a rank opens
// what it uses, when it first does. Internal to src/collective.

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "communicator/communicator.h"
#include "driver/driver.h"

namespace polypath::collective {

/// Gives what each rank, in order, has passed to it. Every rank calls it as often as the others.
using AllGather = std::function<std::vector<ExportedMemory>(const ExportedMemory& own)>;
/// That of a communicator, which outlives it.
AllGather all_gather_by(Communicator& communicator);

/// Opens memory of another rank. Errors of the driver say whose it is.
Address import_of_rank(Driver& driver, int owner, const ExportedMemory& memory, PlaceId gpu);

class ExchangedMemory {
 public:
  /// `gpu` is this rank's.
  ExchangedMemory(Driver& driver, PlaceId gpu, int rank, std::size_t ranks, AllGather all_gather)
      : driver_(driver),
        gpu_(gpu),
        rank_(rank),
        all_gather_(std::move(all_gather)),
        handed_(ranks) {}
  ExchangedMemory(const ExchangedMemory&) = delete;
  ExchangedMemory& operator=(const ExchangedMemory&) = delete;
  /// Nothing of any rank that uses it may be queued.
  ~ExchangedMemory();

  /// Memory of this rank's own, with any contents or all 0: to be handed out in the order in which
  /// it is made.
  [[nodiscard]] Address make(PlaceId place, Bytes bytes);
  [[nodiscard]] Address make_zeros(PlaceId place, Bytes bytes);
  /// Hands this rank's out, and takes what the others do.
  void exchange(const std::vector<Address>& own);
  /// The number of what a rank hands out next.
  [[nodiscard]] std::size_t next(int owner) const {
    return handed_[static_cast<std::size_t>(owner)].size();
  }

  /// What a rank has handed out, as this one reaches it: opened if it is not, or 0 then.
  Address open(int owner, std::size_t number);
  [[nodiscard]] Address known(int owner, std::size_t number) const;

 private:
  Driver& driver_;
  PlaceId gpu_;
  int rank_;
  AllGather all_gather_;
  std::vector<Address> own_;                         ///< in the order of the exchanges
  std::vector<std::vector<ExportedMemory>> handed_;  ///< by rank
  std::map<std::pair<int, std::size_t>, Address> opened_;
};

}  // namespace polypath::collective
