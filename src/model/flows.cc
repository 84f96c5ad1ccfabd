#include "model/flows.h"

#include <algorithm>

namespace polypath::model {
namespace {

// A flow this close to its end has ended: far below a byte, far above rounding.
constexpr double kNothingLeft = 1e-3;

}  // namespace

bool Flows::has_nothing_left(const Activity& activity) { return activity.left <= kNothingLeft; }

void Flows::begin(const ActivityPointer& activity) {
  flowing_.push_back({activity, activity->left, now_, Seconds::infinity()});
  rates_.begin(activity->hop);
  rates_stale_ = true;
}

void Flows::end(const ActivityPointer& activity) {
  const auto flow = std::ranges::find(flowing_, activity, &Flowing::activity);
  if (flow == flowing_.end()) return;
  rates_.end(activity->hop);
  flowing_.erase(flow);
  rates_stale_ = true;
}

void Flows::pass_to(Seconds now) {
  if (now <= now_) return;
  if (rates_stale_) find_rates();
  if (!credit_.empty() && credit_.pass(now - now_)) rates_stale_ = true;
  now_ = now;
}

Seconds Flows::completion() {
  if (rates_stale_) find_rates();
  return soonest_;
}

double Flows::left_now(const Flowing& flow) const {
  return flow.left - flow.rate * (now_ - flow.since).value;
}

// True if nothing is left, or so little that a clock this late cannot tell its end from now.
bool Flows::is_through(const Flowing& flow) const {
  if (flow.ends <= now_) return true;
  const double left = left_now(flow);
  return left <= kNothingLeft || now_ + Seconds{left / flow.rate} <= now_;
}

std::vector<ActivityPointer> Flows::through() const {
  std::vector<ActivityPointer> ended;
  for (const Flowing& flow : flowing_)
    if (is_through(flow)) ended.push_back(flow.activity);
  return ended;
}

void Flows::change_rate(Flowing& flow, double rate) const {
  flow.left = left_now(flow);
  flow.since = now_;
  flow.rate = rate;
  flow.ends = now_ + Seconds{std::max(flow.left, 0.0) / rate};
}

void Flows::find_rates() {
  rates_stale_ = false;
  if (!credit_.empty()) limit_by_credit();
  rates_.find();
  soonest_ = Seconds::infinity();
  for (Flowing& flow : flowing_) {
    const double rate = rates_.of(flow.activity->hop);
    if (rate != flow.rate) change_rate(flow, rate);
    soonest_ = std::min(soonest_, flow.ends);
  }
  if (!credit_.empty()) take_credit();
}

void Flows::limit_by_credit() {
  for (const ResourceId resource : hop_rates_.with_burst()) {
    const Capacity& capacity = hop_rates_.capacities()[resource.index()];
    const bool is_spent = std::ranges::find(credit_.spent(), resource) != credit_.spent().end();
    rates_.limit(resource, is_spent ? capacity.value : capacity.peak());
  }
}

void Flows::take_credit() {
  credit_.take_nothing();
  for (const Flowing& flow : flowing_)
    credit_.take(hop_rates_.machine().hop(flow.activity->hop).uses, flow.rate);
}

}  // namespace polypath::model
