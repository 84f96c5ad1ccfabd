#include "plan/single/recipes.h"

#include <utility>

#include "plan/single/optimiser.h"

namespace polypath::plan {

Recipes::Recipes(const PlanModel& model, const AllowedPaths& paths, const FixedSplits& fixed)
    : model_(model),
      paths_(paths),
      fixed_(fixed),
      recipes_(static_cast<std::size_t>(model.settings().plan_cache)) {}

Draft Recipes::automatic(const PlannerRequest& request, Executor executor) {
  if (auto draft = fixed_.tuned(request, executor)) return *std::move(draft);
  Draft draft = recipe(request, executor);
  const Splitter exact = model_.splitter(request, executor, request.bytes);
  fixed_.apply_chunks(request, draft);
  exact.evaluate(draft);
  return draft;
}

Draft Recipes::recipe(const PlannerRequest& request, Executor executor) {
  const Bytes bytes = size_class(request.bytes);
  PlanOptions options;
  options.both_ways = request.options->both_ways;
  options.left_out = request.options->left_out;
  const Key key{request.source, request.destination, bytes, options, request.load, executor};
  if (const Draft* cached = recipes_.find(key)) return *cached;
  if (request.load.empty() && options.left_out.empty()) ++searches_;
  const Splitter splitter = model_.splitter(request, executor, bytes);
  Draft best = Optimiser(splitter).best_subset(paths_.of(request));
  return recipes_.insert(key, std::move(best));
}

}  // namespace polypath::plan
