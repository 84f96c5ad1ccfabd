#include "model/flows.h"

#include <algorithm>

namespace polypath {
namespace {

// A flow this close to its end has ended: far below a byte, far above rounding.
constexpr double kNothingLeft = 1e-3;

// True if nothing is left, or so little that a clock this late cannot tell its end from now.
bool has_flowed(const Activity& activity, BytesPerSecond rate, Seconds now) {
  return activity.left <= kNothingLeft || now + Seconds{activity.left / rate.value} <= now;
}

}  // namespace

bool Flows::has_nothing_left(const Activity& activity) { return activity.left <= kNothingLeft; }

void Flows::begin(const ActivityPointer& activity) {
  flowing_.push_back(activity);
  rates_stale_ = true;
}

void Flows::end(const ActivityPointer& activity) {
  if (std::erase(flowing_, activity) > 0) rates_stale_ = true;
}

void Flows::pass(Seconds duration) {
  if (duration.value <= 0) return;
  if (rates_stale_) find_rates();
  for (std::size_t f = 0; f < flowing_.size(); ++f)
    flowing_[f]->left -= rates_[f].value * duration.value;
  if (credit_.pass(duration)) rates_stale_ = true;
}

Seconds Flows::until_completion() {
  if (rates_stale_) find_rates();
  double soonest = Seconds::infinity().value;
  for (std::size_t f = 0; f < flowing_.size(); ++f)
    soonest = std::min(soonest, std::max(flowing_[f]->left, 0.0) / rates_[f].value);
  return Seconds{soonest};
}

std::vector<ActivityPointer> Flows::through(Seconds now) const {
  std::vector<ActivityPointer> ended;
  for (std::size_t f = 0; f < flowing_.size(); ++f)
    if (has_flowed(*flowing_[f], rates_[f], now)) ended.push_back(flowing_[f]);
  return ended;
}

void Flows::find_rates() {
  rates_stale_ = false;
  scene_.hops.clear();
  for (const auto& activity : flowing_) scene_.hops.push_back(activity->hop.value);
  std::ranges::sort(scene_.hops);
  scene_.spent = credit_.spent();
  const std::vector<BytesPerSecond>& by_hop = hop_rates_.of(scene_);
  rates_.clear();
  for (const auto& activity : flowing_) rates_.push_back(by_hop[activity->hop.index()]);
  if (credit_.empty()) return;
  credit_.take_nothing();
  for (std::size_t f = 0; f < flowing_.size(); ++f)
    credit_.take(machine_.hop(flowing_[f]->hop).uses, rates_[f].value);
}

}  // namespace polypath
