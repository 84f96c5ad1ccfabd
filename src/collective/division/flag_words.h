#pragma once
// Which word each flag of a pair of ranks has. A word is used again once both ranks know that it is
// free. Internal to src/collective/division.

#include <map>
#include <utility>
#include <vector>

#include "collective/division/vector_clocks.h"

namespace polypath::collective {

/// In place of the node that awaits a flag: the end of its part.
inline constexpr int kEndOfPart = -1;

/// The clocks outlive it.
class FlagWords {
 public:
  explicit FlagWords(const VectorClocks& clocks) : clocks_(clocks) {}

  /// A word for a flag that the producer sets after its node `earlier`, and that the consumer's
  /// node `before` awaits, or kEndOfPart; that await comes after `at`.
  int take(int producer, int consumer, int earlier, int before, const VectorClock& at);
  /// Words that the pair which needs most of them needs.
  [[nodiscard]] int most() const;

 private:
  const VectorClocks& clocks_;
  /// By producer and consumer: for each word but that of the entry the node that frees it.
  std::map<std::pair<int, int>, std::vector<int>> freed_by_;
};

}  // namespace polypath::collective
