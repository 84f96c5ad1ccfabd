#pragma once
// Peer registration: the ranks of a node map each other's memory of the callers' own.
//
// A rank's input and output lie in allocations that the other ranks cannot reach at first. Those
// that are used repeatedly are opened to them (shared_allocations.h). From then on calls that use
// them need no scratch memory, if the memory of all ranks is registered, which they find out when
// they make the call (communicator/node/agreement_ring.h).

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "collective/rank/shared_allocations.h"
#include "communicator/node/agreement_ring.h"
#include "driver/driver.h"

namespace polypath::collective {

/// Not thread-safe.
class PeerRegistration {
 public:
  /// The memories of a call: a rank's input and output, or its one memory.
  static constexpr std::size_t kMost = AgreementRing::kWords;
  using Addresses = std::array<Address, kMost>;
  /// One of them; of no memory at address 0.
  struct Memory {
    Address address = {};
    Bytes bytes{1};
  };
  using Memories = std::array<Memory, kMost>;

  /// `gpu` is this rank's, `local` its number of `ranks`.
  PeerRegistration(Driver& driver, PlaceId gpu, int local, HandleBoard notices,
                   AgreementRing offers);
  PeerRegistration(const PeerRegistration&) = delete;
  PeerRegistration& operator=(const PeerRegistration&) = delete;
  /// Nothing that is queued may use what was imported.
  ~PeerRegistration() = default;
  /// As SharedAllocations::abandon().
  void abandon() { allocations_.abandon(); }

  /// The memories of all ranks in one call, as this rank reaches them; none if one of them is not
  /// registered, or a rank does not come for `timeout`, or while `is_busy` (agreement_ring.h).
  /// Address 0 stays 0. All ranks ask for the same calls, in the same order, and get the same
  /// answer. A call that is captured will be replayed: its memory is registered at once. That waits
  /// for the other ranks, too, for `timeout` at most.
  std::optional<std::vector<Addresses>> lookup_all(const Memories& own, Seconds timeout,
                                                   bool captured,
                                                   const std::function<bool()>& is_busy = {});
  /// Registers the run that uses the addresses last returned by lookup_all(): `is_done` says when
  /// it has ended, `is_idle` when all runs have.
  void note_use(std::function<bool()> is_idle, const std::function<bool()>& is_done = {}) {
    allocations_.note_use(std::move(is_idle), is_done);
  }

 private:
  static constexpr int kMostBackoff = 64;  ///< the most calls made without waiting

  struct Wanted {
    std::optional<AgreementRing::Words> words;  ///< none if some memory is not registered
    bool waits = false;                         ///< some memory may be registered soon
  };
  /// Exponential back-off after a wait without result: the calls left to make without waiting, and
  /// their number after the next failure.
  struct Backoff {
    int calls = 0;
    int next = 1;

    void begin();
  };
  [[nodiscard]] Wanted words_of(const Memories& own, bool at_once);
  [[nodiscard]] Wanted register_and_wait(const Memories& own, Seconds timeout);
  [[nodiscard]] std::optional<Addresses> addresses_of(int rank, const AgreementRing::Words& words,
                                                      const Memories& own);

  int local_;
  SharedAllocations allocations_;
  AgreementRing agreements_;
  Backoff eager_, captured_;  ///< a late rank may be in time when all capture
};

}  // namespace polypath::collective
