#include "standin/chaos/chance.h"

namespace polypath::standin::chaos {

Clock::duration Chance::delay() {
  using std::chrono::microseconds;
  const std::uint64_t kind = below(100);
  if (kind < 60) return {};
  if (kind < 90) return microseconds(below(50));
  if (kind < 99) return microseconds(below(500));
  return microseconds(below(5000));
}

}  // namespace polypath::standin::chaos
