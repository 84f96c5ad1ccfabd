#include "engine/plans.h"

#include <string>

#include "core/error.h"
#include "core/log.h"

namespace polypath {
namespace {

// A program whose copies are all of different sizes must not fill the memory with wishes.
constexpr std::size_t kMostWanted = 64;

}  // namespace

Plans::Plans(const Machine& machine, const Settings& settings)
    : planner_(machine, settings), known_(static_cast<std::size_t>(settings.plan_cache)) {}

PlanPointer Plans::make(const PlanRequest& request) {
  const std::scoped_lock lock(planning_);
  return planner_.plan(request.source, request.destination, request.bytes, request.options,
                       request.companions);
}

PlanPointer Plans::find(const PlanRequest& request, Background& background) {
  const Key key = key_of(request);
  const std::scoped_lock lock(mutex_);
  if (const PlanPointer* known = known_.find(key)) return *known;
  if (wanted_.size() < kMostWanted && wanted_.insert(key).second)
    background.post([this, request, key] { make_known(request, key); });
  return nullptr;
}

Plans::Key Plans::key_of(const PlanRequest& request) {
  return {request.source, request.destination, request.bytes, request.options, request.companions};
}

// What cannot be planned is known as null, and not tried again.
void Plans::make_known(const PlanRequest& request, const Key& key) noexcept {
  PlanPointer plan;
  try {
    plan = make(request);
  } catch (const std::exception& error) {
    log(LogLevel::info, std::string("a copy cannot be planned: ") + error.what());
  }
  const std::scoped_lock lock(mutex_);
  known_.insert(key, std::move(plan));
  wanted_.erase(key);
}

}  // namespace polypath
