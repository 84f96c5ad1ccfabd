#pragma once
// Sets of copies that lately went natively, each in a stream of its own, so that the next set like
// one of them can go at once. Looking at all memories, and at the transfers in flight, cost 4 % of
// what 4 MiB from each of two H200s to the host take, and 0.5 % since
// (results/h200x2/copy_many.json).
//
// Sets are alike if their copies are, in order (recent_natives.h), and as harmless is it if the
// memory is another one since.

#include <optional>
#include <span>
#include <vector>

#include "engine/call/recent_copies.h"
#include "engine/decide/recent_natives.h"
#include "plan/joint/joint.h"

namespace polypath::engine {

/// Not thread-safe; the engine guards it.
class RecentSets {
 public:
  /// Sizes below `smallest_planned` are all alike.
  explicit RecentSets(Bytes smallest_planned) : smallest_planned_(smallest_planned) {}

  /// The joint plan of native copies that was carried out; null if none is remembered, or two of
  /// the calls have the same stream. Counts as a use.
  [[nodiscard]] JointPlanPointer find(std::span<const CopyCall> calls);
  void remember(std::span<const CopyCall> calls, JointPlanPointer plan);
  void forget(std::span<const CopyCall> calls);

 private:
  struct Key {
    std::vector<CopyLikeness> copies;

    bool operator==(const Key&) const = default;
    [[nodiscard]] std::uint64_t hash() const;
  };
  [[nodiscard]] std::optional<Key> key_of(std::span<const CopyCall> calls) const;

  Bytes smallest_planned_;
  RecentCopies<Key, JointPlanPointer, 64> sets_;
};

}  // namespace polypath::engine
