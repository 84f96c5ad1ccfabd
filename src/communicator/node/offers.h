#pragma once
// Whether all ranks of a node do something in a way for which each of them has to be ready, where
// nobody may be waited for long.
//
// For the n-th such decision each rank offers some words, or refuses. Its verdict is open at first,
// `accepted` once all have offered, and `refused` once a rank refuses or has waited long enough.
// The first change stands, by one atomic exchange; so all ranks do the same, however late they
// come.
//
// Rings wrap: with R slots, decision n has the slot of n − R. A rank that comes to n before all
// ranks have passed n − R refuses and leaves the slot alone: another rank may still have to read
// the verdict or the words in it. The others wait for its offer in vain, and so refuse, too.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "communicator/node/shared_words.h"
#include "core/units.h"

namespace polypath {

/// Not thread-safe: one thread at a time of each rank.
template <class Shared>
class OffersOn {
 public:
  static constexpr std::size_t kWords = 2;
  using Words = std::array<std::uint64_t, kWords>;

  static std::size_t bytes_for(int ranks);
  /// `memory` is shared by all ranks of the node, zeros at first, and outlives this.
  OffersOn(void* memory, int ranks, int local) : memory_(memory), ranks_(ranks), local_(local) {}

  /// The next decision: what all ranks have offered, in their order, or none if it was refused.
  /// `mine` is none to refuse. Waits for the others for `patience` at most, or for 20 ms while
  /// `is_busy` says that nothing is lost by it.
  std::optional<std::vector<Words>> decide(const std::optional<Words>& mine, Seconds patience,
                                           const std::function<bool()>& is_busy = {});
  /// True if the last one was refused because this rank has waited long enough.
  [[nodiscard]] bool waited_in_vain() const { return waited_in_vain_; }

 private:
  template <class Value>
  using Word = typename Shared::template Word<Value>;
  static constexpr std::uint64_t kSlots = Shared::kDecisions;
  enum State : std::uint64_t { open, accepted, refused };

  struct alignas(64) Offer {
    Word<std::uint64_t> number;
    std::array<Word<std::uint64_t>, kWords> words;
  };
  struct alignas(64) Verdict {
    Word<std::uint64_t> value;  ///< 4·number + state
  };

  [[nodiscard]] Verdict& verdict() const;
  [[nodiscard]] Offer& offer_of(int rank) const;
  [[nodiscard]] Word<std::uint64_t>& passed(int rank) const;
  [[nodiscard]] bool has_all_passed(std::uint64_t number) const;
  [[nodiscard]] bool have_all_offered() const;
  [[nodiscard]] bool enter();
  void publish(const Words& mine);
  bool settle(State state);
  [[nodiscard]] State wait(Seconds patience, const std::function<bool()>& is_busy);

  void* memory_;
  int ranks_;
  int local_;
  std::uint64_t number_ = 0;
  bool waited_in_vain_ = false;
};

using Offers = OffersOn<SharedWords>;
extern template class OffersOn<SharedWords>;

}  // namespace polypath
