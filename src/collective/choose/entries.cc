// An algorithm on its way to a decision: what is known of its candidates before they are played.

#include <algorithm>

#include "collective/choose/choose.h"

namespace polypath::collective {
namespace {

// By hosts the links may be busy for so many times as long: direct copies that share a link keep
// their engines busy for longer than they would one by one, which least times do not have.
constexpr double kLossByHosts = 1.1;

}  // namespace

// The fastest first, which was played. A candidate that was not played because its gain would be
// small counts as equal.
void CollectivePlanner::Entry::sort_by_time(std::vector<Entry>& entries, Seconds best) {
  for (Entry& each : entries)
    if (each.decision.at_least)
      each.decision.draft.predicted = std::max(each.decision.draft.predicted, each.to_beat(best));
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.counted() < b.counted(); });
  const auto first =
      std::ranges::find_if_not(entries, [](const Entry& each) { return each.decision.at_least; });
  if (first != entries.end()) std::rotate(entries.begin(), first, first + 1);
}

// Kernels first, which are played at once, then those that seem fastest.
void CollectivePlanner::Entry::sort_by_estimate(std::vector<Entry>& entries) {
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    const bool kernel = a.candidates.front().draft.algorithm->is_kernel;
    if (kernel != b.candidates.front().draft.algorithm->is_kernel) return kernel;
    return a.estimate() < b.estimate();
  });
}

Seconds CollectivePlanner::Entry::least() const {
  return std::ranges::min(candidates, {}, &Candidate::least).least;
}

std::vector<CollectivePlanner::Candidate*> CollectivePlanner::Entry::by_least() {
  std::vector<Candidate*> sorted;
  for (Candidate& each : candidates) sorted.push_back(&each);
  std::ranges::stable_sort(sorted, {}, &Candidate::least);
  return sorted;
}

Seconds CollectivePlanner::Entry::least(const SendMode& mode) const {
  Seconds least = Seconds::infinity();
  for (const Candidate& each : candidates)
    if (mode_of(each.draft.tuning) == mode) least = std::min(least, each.least);
  return least;
}

Seconds CollectivePlanner::Entry::estimate() const {
  const auto of = [](const Candidate& each) { return each.least + each.calls; };
  return of(std::ranges::min(candidates, {}, of));
}

Seconds CollectivePlanner::Entry::least_by_any_way() const {
  return std::ranges::min(candidates, {}, &Candidate::least_by_any_way).least_by_any_way;
}

// More trees have to gain; by hosts links may be a little busier.
bool CollectivePlanner::Entry::may_gain(const Candidate& candidate,
                                        const CollectiveRequest& request) const {
  const Tuning& tuning = candidate.draft.tuning;
  const bool is_usual = has_root(request.collective) && tuning.radix <= request.size();
  const bool more_must_gain = candidate.draft.algorithm->more_with_radix && !is_usual;
  if (more_must_gain && candidate.least * kClearLoss >= least(mode_of(tuning))) return false;
  return !tuning.by_hosts || candidate.least < least({}) * kLossByHosts;
}

// More trees use links more evenly, but need more calls, and packing many takes long: neither where
// calls take longer than links anyway, nor where two and three trees use links no better than one.
// A rooted message has other parts with one tree than with several.
bool CollectivePlanner::Entry::is_worth_packing(int radix, const SendMode& mode,
                                                const CollectiveRequest& request) const {
  constexpr int kFew = 3, kMostByHosts = 1, kMostParts = 128;
  constexpr double kMoreOfLinks = 2;
  if (candidates.empty() || radix == 1) return true;
  const Candidate& first = candidates.front();
  if (has_root(request.collective))
    return radix <= request.size() || first.least >= first.calls * kMoreOfLinks;
  if (mode.by_hosts && radix > kMostByHosts) return false;
  if (first.least < first.calls * kMoreOfLinks) return false;
  const int others = request.collective == Collective::all_to_all ? request.size() - 1 : 1;
  if (request.size() * others * radix > kMostParts) return false;
  return radix <= kFew || candidates.size() > 1;
}

}  // namespace polypath::collective
