#pragma once
// The last few times that something took.

#include <vector>

#include "core/units.h"

namespace polypath::engine {

/// Of two ways, one is clearly faster if it takes less than this part of the other's time.
inline constexpr double kClearlyFaster = 0.97;

class RecentTimes {
 public:
  /// Forgets the oldest one where there are many.
  void add(Seconds time);
  void clear() { times_.clear(); }
  /// So many that the median says something.
  [[nodiscard]] bool enough() const;
  [[nodiscard]] bool empty() const { return times_.empty(); }
  /// Not of none.
  [[nodiscard]] Seconds median() const;

 private:
  std::vector<Seconds> times_;
};

}  // namespace polypath::engine
