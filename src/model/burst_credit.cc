#include "model/burst_credit.h"

#include <algorithm>

namespace polypath::model {
namespace {

// Less credit than this is none: too little to notice, yet more than a clock can tell apart after
// days.
constexpr double kNoCredit = 64;

}  // namespace

BurstCredit::BurstCredit(std::span<const Capacity> capacities) {
  for (std::size_t r = 0; r < capacities.size(); ++r)
    if (capacities[r].credit > 0)
      accounts_.push_back({{static_cast<std::int32_t>(r)}, capacities[r], capacities[r].credit, 0});
}

void BurstCredit::take_nothing() {
  for (Account& account : accounts_) account.taken = 0;
}

void BurstCredit::take(std::span<const Use> uses, double rate) {
  for (Account& account : accounts_)
    for (const Use& use : uses)
      if (use.resource == account.resource) account.taken += use.weight * rate;
}

Seconds BurstCredit::lasts() const {
  double soonest = Seconds::infinity().value;
  for (const Account& account : accounts_)
    if (account.left > 0 && account.taken > account.capacity.value)
      soonest = std::min(soonest, account.left / (account.taken - account.capacity.value));
  return {soonest};
}

bool BurstCredit::pass(Seconds duration) {
  bool any = false;
  spent_.clear();
  for (Account& account : accounts_) {
    const bool had_some = account.left > 0;
    account.left += (account.capacity.value - account.taken) * duration.value;
    account.left = std::min(account.left, account.capacity.credit);
    if (account.left < kNoCredit) account.left = 0, spent_.push_back(account.resource);
    any |= had_some && account.left == 0;
  }
  return any;
}

Seconds rest_of(const Machine& machine) {
  double longest = 0;
  for (const Resource& resource : machine.resources)
    longest = std::max(longest, resource.rate_limit().credit / resource.capacity.value);
  return {longest};
}

std::vector<Capacity> capacities_now(std::span<const Capacity> capacities,
                                     std::span<const ResourceId> spent) {
  std::vector<Capacity> now(capacities.begin(), capacities.end());
  for (std::size_t r = 0; r < now.size(); ++r) {
    const ResourceId id{static_cast<std::int32_t>(r)};
    if (std::find(spent.begin(), spent.end(), id) == spent.end()) now[r].value = now[r].peak();
  }
  return now;
}

}  // namespace polypath::model
