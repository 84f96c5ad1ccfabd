#pragma once
// Decides whether all ranks of a node use a method for which each of them has to be ready. No rank
// waits long for another.
//
// For the n-th decision each rank votes: it gives some words, or it aborts. The verdict is `open`
// at first, `committed` once all ranks have given words, and `aborted` once a rank aborts or its
// timeout ends. The first change stands, by one atomic exchange; so all ranks do the same, however
// late they come.
//
// Rings wrap: with R slots, decision n has the slot of n − R. A rank that comes to n before all
// ranks have passed n − R aborts and leaves the slot alone: another rank may still have to read the
// verdict or the words in it. The other ranks reach their timeout without its vote, and so abort,
// too.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "communicator/node/shared_words.h"
#include "core/units.h"

namespace polypath::communicator {

/// Not thread-safe: one thread at a time of each rank.
template <class Shared>
class AgreementRingOn {
 public:
  static constexpr std::size_t kWords = 2;
  using Words = std::array<std::uint64_t, kWords>;

  static std::size_t bytes_for(int ranks);
  /// `memory` is shared by all ranks of the node, zeros at first, and outlives this.
  AgreementRingOn(void* memory, int ranks, int local)
      : memory_(memory), ranks_(ranks), local_(local) {}

  /// The next decision: the words of all ranks, in the order of the ranks, or none if it was
  /// aborted. `mine` is none to abort. Waits for the other ranks for `timeout` at most, or for 20
  /// ms while `is_busy` says that waiting costs nothing.
  std::optional<std::vector<Words>> vote(const std::optional<Words>& mine, Seconds timeout,
                                         const std::function<bool()>& is_busy = {});
  /// True if the last decision was aborted because this rank's timeout ended.
  [[nodiscard]] bool waited_in_vain() const { return waited_in_vain_; }

 private:
  template <class Value>
  using Word = typename Shared::template Word<Value>;
  static constexpr std::uint64_t kSlots = Shared::kDecisions;
  enum State : std::uint64_t { open, committed, aborted };

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
  [[nodiscard]] State wait(Seconds timeout, const std::function<bool()>& is_busy);

  void* memory_;
  int ranks_;
  int local_;
  std::uint64_t number_ = 0;
  bool waited_in_vain_ = false;
};

using AgreementRing = AgreementRingOn<SharedWords>;
extern template class AgreementRingOn<SharedWords>;

}  // namespace polypath::communicator
