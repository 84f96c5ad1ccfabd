#include "model/copy_engines.h"

namespace polypath::model {
namespace {

constexpr int kUnlimited = -1;

}  // namespace

CopyEngines::CopyEngines(const Machine& machine) : machine_(machine) {
  for (const Resource& resource : machine.resources) {
    any_ |= resource.copies_at_once > 0;
    free_.push_back(resource.copies_at_once > 0 ? resource.copies_at_once : kUnlimited);
  }
}

bool CopyEngines::take_or_wait(const ActivityPointer& copy) {
  const bool taken = take(*copy);
  if (!taken) waiting_.push_back(copy);
  return taken;
}

bool CopyEngines::take(const Activity& copy) {
  if (!any_) return true;
  const auto& uses = machine_.hop(copy.hop).uses;
  for (const Use& use : uses)
    if (free_[use.resource.index()] == 0) return false;
  for (const Use& use : uses)
    if (int& engines = free_[use.resource.index()]; engines != kUnlimited) --engines;
  return true;
}

std::vector<ActivityPointer> CopyEngines::give_back(const Activity& copy) {
  if (!any_) return {};
  for (const Use& use : machine_.hop(copy.hop).uses)
    if (int& engines = free_[use.resource.index()]; engines != kUnlimited) ++engines;
  if (waiting_.empty()) return {};
  std::vector<ActivityPointer> starting;
  std::erase_if(waiting_, [&](const ActivityPointer& waiting) {
    if (!take(*waiting)) return false;
    starting.push_back(waiting);
    return true;
  });
  return starting;
}

}  // namespace polypath::model
