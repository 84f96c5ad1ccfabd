#pragma once
// Memory of the callers' own that the ranks of a node have opened to each other.
//
// What a rank gives to a call, or gets from it, lies in allocations that the others cannot reach at
// first. One that is used again and again is exported, the others import it when they come to their
// next call (communicator/node/notices.h), and from then on calls that use it need no scratch
// memory: if all ranks' memory is open, which they find out when they make the call
// (communicator/node/offers.h).
//
// An allocation is known by the driver's number of it, which is asked for at every call: memory
// that was freed and allocated again at the same address is another one. One that is gone is taken
// back, and the others release what they have imported, once nothing of theirs that is queued can
// use it. They learn of it at the next call of this kind.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "communicator/node/notices.h"
#include "communicator/node/offers.h"
#include "driver/driver.h"

namespace polypath {

/// Not thread-safe.
class OpenMemory {
 public:
  /// Which of a call's memories: what a rank gives and gets, or its one memory.
  static constexpr std::size_t kMost = Offers::kWords;
  using Addresses = std::array<Address, kMost>;

  /// `gpu` is this rank's, `local` its number of `ranks`.
  OpenMemory(Driver& driver, PlaceId gpu, int local, Notices notices, Offers offers);
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;
  /// Nothing that is queued may use what was imported.
  ~OpenMemory();

  /// The memories of all ranks in one call, as this rank reaches them; none if one of them is not
  /// open, or a rank does not come for `patience`, or while `is_busy` (offers.h). Address 0 stays
  /// 0. All ranks ask for the same calls, in the same order, and get the same answer. A call that
  /// is captured will be replayed: its memory is opened at once, for which the others are waited
  /// for, too, for `patience` at most.
  std::optional<std::vector<Addresses>> of_all(const Addresses& own, Seconds patience,
                                               bool captured,
                                               const std::function<bool()>& is_busy = {});
  /// Says that what of_all() returned last is used by a run, of which `is_done` knows when it ends.
  void note_use(std::function<bool()> is_done) { last_use_ = std::move(is_done); }

 private:
  static constexpr int kUsesBefore = 2;  ///< until an allocation is worth it
  static constexpr std::size_t kMostOwn = 256;
  static constexpr int kMostAlone = 64;  ///< calls for which nobody is waited for, at most

  /// An allocation of this rank's.
  struct Own {
    std::uint64_t id = 0;
    Bytes size;
    int uses = 0;
    std::optional<int> notice = {};
    /// For good: it cannot be shared, too many others are, or somebody could not open it.
    bool is_private = false;
  };
  using Allocations = std::map<Address, Own>;  ///< by base

  struct Wanted {
    std::optional<Offers::Words> words;  ///< none if some memory is not open
    bool waits = false;                  ///< some memory may be open soon
  };
  /// For how many calls nobody is waited for, because somebody was in vain; and after the next
  /// failure.
  struct Alone {
    int calls = 0;
    int next = 1;

    void begin();
  };
  [[nodiscard]] Wanted words_of(const Addresses& own, bool at_once);
  [[nodiscard]] Wanted words_once_open(const Addresses& own, Seconds patience);
  [[nodiscard]] std::optional<std::uint64_t> word_of(Address address, bool at_once, bool& waits);
  [[nodiscard]] Allocations::iterator find(Address address);
  [[nodiscard]] Allocations::iterator look_up(Address address);
  void open(Address base, Own& own);
  void forget(Allocations::iterator own);
  void look_at_one();
  void take_in(bool captured);
  void take(const Notices::News& news);
  void release_gone();
  [[nodiscard]] std::optional<Addresses> addresses_of(int rank, const Offers::Words& words,
                                                      const Addresses& own) const;

  Driver& driver_;
  PlaceId gpu_;
  int local_;
  Notices notices_;
  Offers offers_;
  Allocations own_;
  Address looked_at_;                                ///< of own_, the last one in turn
  std::map<std::pair<int, int>, Address> imported_;  ///< by rank and its notice
  std::deque<Notices::News> gone_;                   ///< and not yet released
  std::function<bool()> last_use_;
  Alone eager_, captured_;  ///< whoever is late once may be in time when all capture
};

}  // namespace polypath
