#include "engine/learn/recent_times.h"

#include <utility>

#include "core/median.h"

namespace polypath::engine {
namespace {

constexpr std::size_t kEnough = 3, kRemembered = 5;

}  // namespace

void RecentTimes::add(Seconds time) {
  if (times_.size() == kRemembered) times_.erase(times_.begin());
  times_.push_back(time);
}

bool RecentTimes::enough() const { return times_.size() >= kEnough; }

Seconds RecentTimes::median() const {
  std::vector<double> values;
  for (const Seconds time : times_) values.push_back(time.value);
  return Seconds{polypath::median(std::move(values))};
}

}  // namespace polypath::engine
