#include "collective/division/flag_words.h"

#include <algorithm>

namespace polypath::collective {

// Word 0 is the entry. A word that the consumer has cleared before the signal may be used again, if
// the new consumer's node comes after that, too: else it would take the first signal for its own.
int FlagWords::take(int producer, int consumer, int earlier, int before, const VectorClock& at) {
  std::vector<int>& freed_by = freed_by_[{producer, consumer}];
  const auto is_free = [&](int node) {
    return node != kEndOfPart && clocks_.precedes(node, earlier) && clocks_.has(at, node);
  };
  const auto found = std::find_if(freed_by.begin(), freed_by.end(), is_free);
  const int word = static_cast<int>(found - freed_by.begin()) + 1;
  if (found == freed_by.end()) freed_by.push_back(before);
  else *found = before;
  return word;
}

int FlagWords::most() const {
  std::size_t most = 0;
  for (const auto& [pair, words] : freed_by_) most = std::max(most, words.size());
  return static_cast<int>(most) + 1;
}

}  // namespace polypath::collective
