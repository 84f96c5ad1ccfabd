#pragma once
// Peer registration: the ranks of a node map each other's memory of the callers' own.
//
// A rank's input and output lie in allocations that the other ranks cannot reach at first. An
// allocation that is used repeatedly is exported, and the other ranks import it at their next call
// (communicator/node/handle_board.h). From then on calls that use it need no scratch memory, if the
// memory of all ranks is registered, which they find out when they make the call
// (communicator/node/agreement_ring.h).
//
// An allocation is known by the driver's number of it, which is asked for at every call: memory
// that was freed and allocated again at the same address is another allocation. A freed allocation
// is taken back, and the other ranks release their import of it once none of their queued work can
// use it. They learn of it at the next call of this kind.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "communicator/node/agreement_ring.h"
#include "communicator/node/handle_board.h"
#include "driver/driver.h"

namespace polypath {

/// Not thread-safe.
class PeerRegistration {
 public:
  /// The memories of a call: a rank's input and output, or its one memory.
  static constexpr std::size_t kMost = AgreementRing::kWords;
  using Addresses = std::array<Address, kMost>;

  /// `gpu` is this rank's, `local` its number of `ranks`.
  PeerRegistration(Driver& driver, PlaceId gpu, int local, HandleBoard notices,
                   AgreementRing offers);
  PeerRegistration(const PeerRegistration&) = delete;
  PeerRegistration& operator=(const PeerRegistration&) = delete;
  /// Nothing that is queued may use what was imported.
  ~PeerRegistration();

  /// The memories of all ranks in one call, as this rank reaches them; none if one of them is not
  /// registered, or a rank does not come for `timeout`, or while `is_busy` (agreement_ring.h).
  /// Address 0 stays 0. All ranks ask for the same calls, in the same order, and get the same
  /// answer. A call that is captured will be replayed: its memory is registered at once. That waits
  /// for the other ranks, too, for `timeout` at most.
  std::optional<std::vector<Addresses>> lookup_all(const Addresses& own, Seconds timeout,
                                                   bool captured,
                                                   const std::function<bool()>& is_busy = {});
  /// Registers the run that uses the addresses last returned by lookup_all(); `is_done` says when
  /// it has ended.
  void note_use(std::function<bool()> is_done) { last_use_ = std::move(is_done); }

 private:
  static constexpr int kUsesBefore = 2;  ///< until an allocation is worth it
  static constexpr std::size_t kMostOwn = 256;
  static constexpr int kMostBackoff = 64;  ///< the most calls made without waiting

  /// An allocation of this rank's.
  struct Own {
    std::uint64_t id = 0;
    Bytes size;
    int uses = 0;
    std::optional<int> notice = {};
    /// For good: it cannot be shared, too many others are, or another rank could not import it.
    bool is_private = false;
  };
  using Allocations = std::map<Address, Own>;  ///< by base

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
  [[nodiscard]] Wanted words_of(const Addresses& own, bool at_once);
  [[nodiscard]] Wanted register_and_wait(const Addresses& own, Seconds timeout);
  [[nodiscard]] std::optional<std::uint64_t> encode(Address address, bool at_once, bool& waits);
  [[nodiscard]] Allocations::iterator find(Address address);
  [[nodiscard]] Allocations::iterator look_up(Address address);
  void open(Address base, Own& own);
  void forget(Allocations::iterator own);
  void look_at_one();
  void take_in(bool captured);
  void take(const HandleBoard::Update& news);
  void release_gone();
  [[nodiscard]] std::optional<Addresses> addresses_of(int rank, const AgreementRing::Words& words,
                                                      const Addresses& own) const;

  Driver& driver_;
  PlaceId gpu_;
  int local_;
  HandleBoard handles_;
  AgreementRing agreements_;
  Allocations own_;
  Address looked_at_;                                ///< of own_, the last one in turn
  std::map<std::pair<int, int>, Address> imported_;  ///< by rank and number on its board
  std::deque<HandleBoard::Update> gone_;             ///< and not yet released
  std::function<bool()> last_use_;
  Backoff eager_, captured_;  ///< a late rank may be in time when all capture
};

}  // namespace polypath
