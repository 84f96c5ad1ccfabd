#include "plan/single/plans_alone.h"

#include <utility>

#include "plan/single/allowed_paths.h"

namespace polypath::plan {

Draft PlansAlone::choose(const PlannerRequest& request, Executor& executor) {
  Draft best = model_.native(request);
  executor = Executor::native;
  if (!may_split(request)) return best;
  const bool is_forced = request.options->forced();
  Seconds to_beat = is_forced ? Seconds::infinity() : model_.to_beat(request, best.prediction.time);
  for (const Executor option : {Executor::stream, Executor::graph}) {
    if (!allows(request.options->executor, option)) continue;
    Draft draft = is_forced ? fixed_.forced(request, option) : recipes_.automatic(request, option);
    if (uses_left_out(model_.machine(), draft, request.options->left_out)) continue;
    if (draft.prediction.time >= to_beat) continue;
    // A graph may need new addresses each time.
    to_beat = draft.prediction.time - model_.machine().driver.least_gain;
    best = std::move(draft);
    executor = option;
  }
  return best;
}

}  // namespace polypath::plan
