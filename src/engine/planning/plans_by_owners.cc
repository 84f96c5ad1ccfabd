#include "engine/planning/plans_by_owners.h"

#include <algorithm>
#include <memory>

namespace polypath::engine {

Path PlansByOwners::by_owners(Path path, OwnEnds own) const {
  if (!path.staged()) return path;
  if (own.source) path.first.pulled = false;
  if (own.destination && machine_.place(staging_place(machine_, path)).kind == PlaceKind::gpu &&
      machine_.place(machine_.hop(path.second).destination).kind == PlaceKind::gpu)
    path.second.pulled = true;
  return path;
}

bool PlansByOwners::is_by_owners(const Plan& plan, OwnEnds own) const {
  return std::ranges::all_of(plan.shape.paths, [&](const PathShape& part) {
    return by_owners(part.path, own) == part.path;
  });
}

PlanPointer PlansByOwners::of(const PlanPointer& plan, OwnEnds own) {
  if (!plan || !own.any() || is_by_owners(*plan, own)) return plan;
  const std::scoped_lock lock(mutex_);
  const std::pair key{plan, own};
  if (const PlanPointer* known = plans_.find(key)) return *known;
  return plans_.insert(key, make(*plan, own));
}

PlanPointer PlansByOwners::make(const Plan& plan, OwnEnds own) const {
  auto made = std::make_shared<Plan>(plan);
  for (PathShape& part : made->shape.paths) part.path = by_owners(part.path, own);
  for (PathDecision& decision : made->decisions) decision.path = by_owners(decision.path, own);
  made->program = program_of(machine_, made->shape, slots_);
  made->program.assign_events();
  made->structure = structure_of(made->program);
  return made;
}

}  // namespace polypath::engine
