#include "plan/joint/found_plans.h"

#include <algorithm>
#include <cmath>

namespace polypath::plan {
namespace {

constexpr double kMostChunks = 1 << 20;
constexpr int kMostTaper = 2;

bool can_be_used(const PathDraft& part, const std::vector<Path>& usable) {
  return std::find(usable.begin(), usable.end(), part.path) != usable.end() && part.share >= 0 &&
         part.share <= 1 + 1e-6 && part.chunks >= 0 && part.chunks <= kMostChunks &&
         part.taper >= 0 && part.taper <= kMostTaper;
}

}  // namespace

bool can_be_used(const FoundSplit& split, const std::vector<Path>& usable) {
  double sum = 0;
  for (auto part = split.begin(); part != split.end(); ++part) {
    const auto is_its = [&](const PathDraft& other) { return other.path == part->path; };
    if (!can_be_used(*part, usable) || std::any_of(split.begin(), part, is_its)) return false;
    sum += part->share;
  }
  return std::abs(sum - 1) < 0.01;
}

bool can_be_used(const IssueOrder& order, std::size_t transfers) {
  const IssueOrder asked = order_asked_for(transfers);
  return order.empty() ||
         std::is_permutation(order.begin(), order.end(), asked.begin(), asked.end());
}

// Takes results of searches for the very same request, with nothing beside it and nothing left out.
void Recipes::recall(const FoundPlans& found) {
  for (auto each = found.recipes.rbegin(); each != found.recipes.rend(); ++each) {
    if (!can_be_used(each->split, paths_.of(each->source, each->destination, {}))) continue;
    PlanOptions options;
    options.both_ways = each->both_ways;
    recipes_.insert({each->source, each->destination, each->size, options, {}, each->executor},
                    {each->split, {}});
  }
}

void Recipes::add_found(FoundPlans& all) const {
  recipes_.for_each([&](const Key& key, const Draft& draft) {
    const auto& [source, destination, size, options, load, executor] = key;
    if (load.empty() && options.left_out.empty())
      all.recipes.push_back({source, destination, size, options.both_ways, executor, draft.paths});
  });
}

void SmallestPlanned::recall(const FoundPlans& found) {
  for (auto each = found.smallest.rbegin(); each != found.smallest.rend(); ++each)
    if (each->smallest >= kNeverPlannedBelow && each->smallest <= kAlwaysPlanned)
      smallest_.insert({each->source, each->destination, each->asked, {}}, each->smallest);
}

void SmallestPlanned::add_found(FoundPlans& all) const {
  smallest_.for_each([&](const Key& key, Bytes smallest) {
    const auto& [source, destination, asked, left_out] = key;
    if (left_out.empty()) all.smallest.push_back({source, destination, asked, smallest});
  });
}

void JointPlanner::recall(const FoundPlans& found) {
  for (auto each = found.sets.rbegin(); each != found.sets.rend(); ++each) {
    bool usable = each->splits.size() == each->transfers.size() && each->options.left_out.empty() &&
                  can_be_used(each->order, each->transfers.size());
    for (std::size_t k = 0; usable && k < each->transfers.size(); ++k) {
      const JointTransfer& transfer = each->transfers[k];
      usable = can_be_used(each->splits[k],
                           planner_.usable_paths(transfer.source, transfer.destination));
    }
    if (usable)
      found_.insert({each->transfers, each->options}, {each->executor, each->splits, each->order});
  }
}

void JointPlanner::add_found(FoundPlans& all) const {
  found_.for_each([&](const Key& key, const Found& found) {
    const auto& [transfers, options] = key;
    if (options.left_out.empty())
      all.sets.push_back({transfers, options, found.executor, found.splits, found.order});
  });
}

}  // namespace polypath::plan
