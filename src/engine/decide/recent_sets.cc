#include "engine/decide/recent_sets.h"

#include <utility>

namespace polypath::engine {
namespace {

// A set has a few copies.
bool have_own_streams(std::span<const CopyCall> calls) {
  for (std::size_t i = 0; i < calls.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (calls[i].stream == calls[j].stream) return false;
  return true;
}

}  // namespace

std::uint64_t RecentSets::Key::hash() const {
  std::uint64_t hash = copies.size();
  for (const CopyLikeness& copy : copies) hash = hash * 31 + copy.hash();
  return hash;
}

std::optional<RecentSets::Key> RecentSets::key_of(std::span<const CopyCall> calls) const {
  if (calls.size() > kMostJointTransfers || !have_own_streams(calls)) return std::nullopt;
  Key key;
  key.copies.reserve(calls.size());
  for (const CopyCall& call : calls) {
    const auto likeness = likeness_of(call, smallest_planned_);
    if (!likeness) return std::nullopt;
    key.copies.push_back(*likeness);
  }
  return key;
}

JointPlanPointer RecentSets::find(std::span<const CopyCall> calls) {
  const auto key = key_of(calls);
  const JointPlanPointer* found = key ? sets_.find(*key) : nullptr;
  return found != nullptr ? *found : nullptr;
}

void RecentSets::remember(std::span<const CopyCall> calls, JointPlanPointer plan) {
  if (auto key = key_of(calls)) sets_.remember(*std::move(key), std::move(plan));
}

void RecentSets::forget(std::span<const CopyCall> calls) {
  if (const auto key = key_of(calls)) sets_.forget(*key);
}

}  // namespace polypath::engine
