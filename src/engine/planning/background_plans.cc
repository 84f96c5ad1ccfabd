#include "engine/planning/background_plans.h"

#include <exception>
#include <string>

#include "core/log.h"

namespace polypath::engine {

BackgroundPlans::BackgroundPlans(const Settings& settings, Plans& plans, Background& background)
    : plans_(plans),
      background_(background),
      known_(static_cast<std::size_t>(settings.plan_cache)),
      known_split_(static_cast<std::size_t>(settings.plan_cache)),
      known_joint_(static_cast<std::size_t>(settings.plan_cache)),
      known_pieces_(static_cast<std::size_t>(settings.plan_cache)),
      known_smallest_(static_cast<std::size_t>(settings.plan_cache)) {}

// After the tasks that wait already: of plans that are asked for together one file is written.
void BackgroundPlans::keep_later() {
  if (!plans_.has_keeper() || will_keep_.exchange(true)) return;
  background_.post([this] {
    will_keep_ = false;
    plans_.keep();
  });
}

// A request that cannot be planned is stored as null, and not tried again.
template <class Request>
auto BackgroundPlans::task_of(const Request& request) {
  return [this, request]() -> decltype(plans_.make(request)) {
    try {
      auto made = plans_.make(request);
      keep_later();
      return made;
    } catch (const std::exception& error) {
      log(LogLevel::info, std::string("copies cannot be planned: ") + error.what());
      return nullptr;
    }
  };
}

PlanPointer BackgroundPlans::find(const PlanRequest& request) {
  const Key key{request.source,  request.destination, request.bytes,
                request.options, request.concurrent,  request.own};
  return known_.find(key, background_, [&] { return task_of(request); });
}

PlanPointer BackgroundPlans::find(const SplitRequest& request) {
  return known_split_.find(request, background_, [&] { return task_of(request); });
}

JointPlanPointer BackgroundPlans::find(const JointRequest& request) {
  return known_joint_.find(request, background_, [&] { return task_of(request); });
}

PieceRecipePointer BackgroundPlans::find(const PieceRequest& request) {
  return known_pieces_.find(request, background_, [&] { return task_of(request); });
}

Bytes BackgroundPlans::find_smallest(const PlanRequest& request) {
  const PlanOptions& options = request.options;
  const SmallestKey key{request.source, request.destination, options.executor, options.left_out};
  const auto task = [&] {
    return [this, request]() -> std::optional<Bytes> {
      try {
        const Bytes smallest = plans_.make_smallest(request);
        keep_later();
        return smallest;
      } catch (const std::exception& error) {
        log(LogLevel::info, std::string("small copies cannot be planned: ") + error.what());
        return kAlwaysPlanned;
      }
    };
  };
  return known_smallest_.find(key, background_, task).value_or(kAlwaysPlanned);
}

}  // namespace polypath::engine
