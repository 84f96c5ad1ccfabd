#include "plan/joint/joint.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "model/joint_shares.h"
#include "model/tolerance.h"
#include "plan/joint/joint_optimiser.h"
#include "plan/single/explain.h"
#include "plan/single/planner_request.h"

namespace polypath::plan {
namespace {

// Ends later than the flow bound by less are not worth another search.
constexpr double kNearBound = 1.03;
constexpr double kAlikeTimes = 0.8;  // the shortest native time of the longest

// In a queue the calls of one thread come in between each other as those of several do.
BothWays calls_of(const JointOptions& options) {
  const bool one = options.issuers == Issuers::one_thread;
  return one && options.queues ? BothWays::by_threads : as_both_ways(options.issuers);
}

enum class Ways { all, direct };

Seconds bound_of(const Planner& planner, const std::vector<JointTransfer>& transfers,
                 Ways ways = Ways::all) {
  std::vector<FlowDemand> demands;
  for (const JointTransfer& transfer : transfers) {
    std::vector<Path> paths = find_paths(planner.machine(), transfer.source, transfer.destination);
    if (ways == Ways::direct) paths.resize(1);
    demands.push_back({std::move(paths), transfer.bytes});
  }
  return flow_bound(planner.machine(), planner.predictor().resources(), demands);
}

// True if some of the paths together are faster than that, on an idle machine.
bool any_split_beats(Seconds native, const Predictor& predictor, const std::vector<Path>& paths,
                     const DraftLimits& limits, Bytes bytes, std::optional<Executor> asked) {
  const std::size_t most = std::min(paths.size(), static_cast<std::size_t>(limits.max_paths));
  for (const Executor executor : {Executor::stream, Executor::graph}) {
    if (!allows(asked, executor)) continue;
    const Splitter splitter(predictor, limits, executor, bytes);
    for (std::size_t used = 2; used <= most; ++used)
      if (splitter.closed_form({paths.begin(), paths.begin() + static_cast<std::ptrdiff_t>(used)})
              .prediction.time < native)
        return true;
  }
  return false;
}

}  // namespace

BothWays as_both_ways(Issuers issuers) {
  switch (issuers) {
    case Issuers::one_thread: return BothWays::by_one_thread;
    case Issuers::threads: return BothWays::by_threads;
    case Issuers::processes: return BothWays::by_processes;
  }
  return BothWays::by_one_thread;
}

const char* name_of(Issuers issuers) {
  switch (issuers) {
    case Issuers::one_thread: return "one-thread";
    case Issuers::threads: return "threads";
    case Issuers::processes: return "processes";
  }
  return "one-thread";
}

Issuers parse_issuers(const std::string& name) {
  for (const Issuers issuers : {Issuers::one_thread, Issuers::threads, Issuers::processes})
    if (name == name_of(issuers)) return issuers;
  fail(ErrorCode::invalid_argument, fmt::format("issuers '{}' are unknown", name),
       "they are one-thread, threads and processes", "Name one of them.");
}

struct JointPlanner::Request {
  const std::vector<JointTransfer>& transfers;
  const JointOptions& options;
  PlanOptions each = {};                        // what each transfer's paths are asked with
  std::vector<std::vector<Path>> paths = {};    // that each may use
  std::vector<Bytes> smallest = {};             // smaller ones are one native copy
  IssueOrder order = {};                        // empty: as asked for
  std::vector<JointPredictor> predictors = {};  // by executor tried; the first one for streams
};

JointPlanner::JointPlanner(Planner& planner)
    : planner_(planner),
      plans_(static_cast<std::size_t>(planner.settings().plan_cache)),
      found_(static_cast<std::size_t>(planner.settings().plan_cache)),
      shapes_(static_cast<std::size_t>(planner.settings().plan_cache)) {}

JointPlanPointer JointPlanner::plan(const std::vector<JointTransfer>& transfers,
                                    const JointOptions& options) {
  const Key key{transfers, options};
  if (const JointPlanPointer* cached = plans_.find(key)) return *cached;
  Request request{.transfers = transfers, .options = options};
  return plans_.insert(key, make_plan(request));
}

void JointPlanner::find_paths_of(Request& request) const {
  if (request.transfers.empty())
    fail(ErrorCode::invalid_argument, "no transfers", "there is nothing to plan",
         "Name at least one source, destination and size.");
  request.each.left_out = request.options.left_out;
  for (const JointTransfer& transfer : request.transfers) {
    check_size(transfer.bytes);
    request.paths.push_back(
        planner_.usable_paths(transfer.source, transfer.destination, request.each));
  }
}

// A transfer that is smaller than its entry in `smallest` keeps its direct path only.
void JointPlanner::leave_small_ones_whole(Request& request) {
  for (std::size_t k = 0; k < request.transfers.size(); ++k)
    if (request.transfers[k].bytes < request.smallest[k]) request.paths[k].resize(1);
}

const std::vector<TransferShape>& JointPlanner::shapes(
    const std::vector<JointTransfer>& transfers) {
  if (const auto* cached = shapes_.find(transfers)) return *cached;
  // In a queue without an end the calls of one thread come in between each other as those of
  // several do.
  const JointOptions options{.issuers = Issuers::threads, .queues = true};
  Request request{.transfers = transfers, .options = options};
  find_paths_of(request);
  request.smallest.assign(transfers.size(), planner_.settings().min_chunk * 2);
  leave_small_ones_whole(request);
  const JointPredictor predictor(planner_.predictor(as_both_ways(options.issuers)),
                                 problem(request, Executor::stream));
  const JointDraft draft =
      may_split(request) ? JointOptimiser(predictor).levelled_shares() : predictor.natively();
  std::vector<TransferShape> shapes;
  for (std::size_t k = 0; k < transfers.size(); ++k) shapes.push_back(predictor.shape_of(draft, k));
  return shapes_.insert(transfers, std::move(shapes));
}

// From here on the transfers are issued in that order; empty: as asked for.
void JointPlanner::issue(Request& request, IssueOrder order) const {
  const Predictor& predictor = planner_.predictor(as_both_ways(request.options.issuers));
  request.order = std::move(order);
  request.predictors.clear();
  for (const Executor executor : {Executor::stream, Executor::graph})
    request.predictors.emplace_back(predictor, problem(request, executor));
}

JointPlanPointer JointPlanner::make_plan(Request& request) {
  find_paths_of(request);
  for (std::size_t k = 0; k < request.transfers.size(); ++k)
    request.smallest.push_back(smallest_split(request, k));
  leave_small_ones_whole(request);
  const JointDraft chosen = found(request);
  auto joint = std::make_shared<JointPlan>();
  for (std::size_t k = 0; k < request.transfers.size(); ++k)
    joint->plans.push_back(plan_of(request, chosen, k));
  joint->predicted = chosen.last;
  joint->calls = chosen.calls;
  for (const PlanPointer& plan : joint->plans)
    joint->native_predicted = std::max(joint->native_predicted, plan->native_predicted);
  joint->flow_bound = bound_of(planner_, request.transfers);
  joint->order = request.order.empty() ? order_asked_for(request.transfers.size()) : request.order;
  return joint;
}

// From which size on a transfer may be split. Planner::smallest_planned plans many sizes to find
// it, which can take longer than the whole search.
Bytes JointPlanner::smallest_split(const Request& request, std::size_t transfer) const {
  const Bytes bytes = request.transfers[transfer].bytes;
  if (const auto& set = planner_.settings().min_message) return *set;
  const bool splits =
      bytes < kAlwaysPlanned && bytes >= kNeverPlannedBelow &&
      request.options.executor != Executor::native &&
      any_split_beats(alone_natively(request, transfer), planner_.predictor(),
                      request.paths[transfer], problem(request, Executor::stream).limits, bytes,
                      request.options.executor);
  return splits ? kNeverPlannedBelow : kAlwaysPlanned;
}

JointProblem JointPlanner::problem(const Request& request, Executor executor) const {
  const Settings& settings = planner_.settings();
  return {.transfers = request.transfers,
          .paths = request.paths,
          .issuers = request.options.issuers,
          .queues = request.options.queues,
          .order = request.order,
          .executor = executor,
          .limits = {.chunks = {settings.min_chunk, settings.staging_slot},
                     .slots = settings.staging_slots,
                     .max_paths = settings.max_paths}};
}

bool JointPlanner::may_split(const Request& request) const {
  return request.options.executor != Executor::native &&
         request.transfers.size() <= kMostJointTransfers &&
         std::any_of(request.paths.begin(), request.paths.end(),
                     [](const auto& paths) { return paths.size() > 1; });
}

// The chosen draft, or the one chosen before: then one play of it says again when everything ends.
JointDraft JointPlanner::found(Request& request) {
  const Key key{request.transfers, request.options};
  JointDraft draft;
  if (const Found* known = found_.find(key)) {
    issue(request, known->order);
    draft.executor = known->executor;
    for (const auto& split : known->splits) draft.transfers.push_back({split, {}});
    predictor_of(request, draft).predict(draft, Effort::replay);
    return draft;
  }
  if (request.options.left_out.empty()) ++searches_;
  issue(request, {});
  draft = choose(request);
  Found found{.executor = draft.executor, .splits = {}, .order = request.order};
  for (const Draft& transfer : draft.transfers) found.splits.push_back(transfer.paths);
  found_.insert(key, std::move(found));
  return draft;
}

// A transfer may not be later than natively because it waits for the calls of those before it, so
// that those may have only few calls. Orders in which those that gain by many calls keep few
// waiting: first as asked for, but behind the others those that natively end later than all need
// to.
std::vector<IssueOrder> JointPlanner::other_orders(const Request& request, Seconds bound) const {
  const JointPredictor& predictor = request.predictors.front();
  const IssueOrder asked = order_asked_for(request.transfers.size());
  IssueOrder late_last = asked, shortest_first = asked;
  std::stable_partition(late_last.begin(), late_last.end(),
                        [&](std::size_t k) { return predictor.native_end(k) <= bound; });
  std::vector<Seconds> alone;
  for (std::size_t k = 0; k < request.transfers.size(); ++k)
    alone.push_back(alone_natively(request, k));
  std::stable_sort(shortest_first.begin(), shortest_first.end(),
                   [&](std::size_t a, std::size_t b) { return alone[a] < alone[b]; });
  std::vector<IssueOrder> orders{late_last, shortest_first};
  orders.erase(std::unique(orders.begin(), orders.end()), orders.end());
  std::erase(orders, asked);
  return orders;
}

Seconds JointPlanner::alone_natively(const Request& request, std::size_t transfer) const {
  const TransferShape shape =
      direct_copy(request.paths[transfer].front(), request.transfers[transfer].bytes);
  return planner_.predictor().predict(shape, planner_.settings().staging_slots).time;
}

bool JointPlanner::may_reorder(const Request& request) const {
  const JointOptions& options = request.options;
  return options.free_order && options.issuers == Issuers::one_thread && !options.queues &&
         may_split(request);
}

// False where native copies of about the same length keep what holds them up busy: one copy from
// the host to each GPU, say. A search would take seconds and find that out.
bool JointPlanner::may_gain(const Request& request) const {
  const JointPredictor& predictor = request.predictors.front();
  const std::vector<Seconds> starts = predictor.starts(predictor.natively());
  Seconds least = Seconds::infinity(), most;
  for (std::size_t k = 0; k < request.transfers.size(); ++k) {
    const Seconds takes = predictor.native_end(k) - starts[k];
    least = std::min(least, takes), most = std::max(most, takes);
  }
  if (least < most * kAlikeTimes) return true;
  const Seconds bound = bound_of(planner_, request.transfers);
  return bound_of(planner_, request.transfers, Ways::direct) > bound * kNearBound;
}

// In the order asked for, or in another one where that clearly gains. The request is left in it.
JointDraft JointPlanner::choose(Request& request) const {
  if (!may_gain(request)) return request.predictors.front().natively();
  JointDraft best = choose_in_order(request);
  if (!may_reorder(request)) return best;
  const Seconds bound = bound_of(planner_, request.transfers);
  for (IssueOrder& order : other_orders(request, bound)) {
    if (best.last <= bound * kNearBound) break;
    Request other = request;
    issue(other, std::move(order));
    JointDraft draft = choose_in_order(other);
    const bool gains = is_split(draft) && draft.regret <= kAsGoodAsNatively &&
                       draft.last <= best.last && draft.cost < best.cost * (1 - kAlike);
    if (!gains) continue;
    best = std::move(draft);
    request.order = std::move(other.order);
    request.predictors = std::move(other.predictors);
  }
  return best;
}

// The cheapest draft that the options allow, if it gains; a graph may need new addresses each time.
// The best draft for graphs is tried as streams once more.
JointDraft JointPlanner::choose_in_order(const Request& request) const {
  const JointOptimiser streams(request.predictors.front()), graphs(request.predictors.back());
  JointDraft natively = request.predictors.front().natively();
  if (!may_split(request)) return natively;
  std::optional<JointDraft> by_streams, by_graphs;
  if (allows(request.options.executor, Executor::stream))
    by_streams = streams.best(streams.starts());
  if (allows(request.options.executor, Executor::graph)) {
    std::vector<JointDraft> starts = graphs.starts();
    if (by_streams && is_split(*by_streams)) starts = {starts.front(), *by_streams};
    by_graphs = graphs.best(std::move(starts));
  }
  if (by_streams && by_graphs && by_graphs->cost < by_streams->cost)
    by_streams = std::min(*by_streams, streams.finished(*by_graphs), is_cheaper);
  return cheapest(request, {natively, by_streams, by_graphs});
}

JointDraft JointPlanner::cheapest(const Request& request,
                                  std::initializer_list<std::optional<JointDraft>> drafts) const {
  const double least_gain = planner_.machine().driver.least_gain.value;
  std::optional<JointDraft> best;
  for (const std::optional<JointDraft>& draft : drafts) {
    if (!draft || (best && !gains(request, *draft))) continue;
    const double needed = best && is_split(*best) ? least_gain : 0;
    if (!best || draft->cost < best->cost - needed) best = draft;
  }
  return *best;
}

// True if no transfer is later than natively, and the last one, or some that are split, gain
// enough.
bool JointPlanner::gains(const Request& request, const JointDraft& draft) const {
  if (draft.regret > kAsGoodAsNatively) return false;
  const JointPredictor& predictor = request.predictors.front();
  const auto beats = [&](std::size_t k, Seconds time, Seconds native) {
    return time < planner_.to_beat(request.paths[k].front(), request.transfers[k].bytes, native,
                                   calls_of(request.options));
  };
  std::size_t last = 0;
  bool any = false;
  for (std::size_t k = 0; k < request.transfers.size(); ++k) {
    if (predictor.native_end(k) > predictor.native_end(last)) last = k;
    any |= !is_native(draft.transfers[k]) &&
           beats(k, draft.transfers[k].prediction.time, predictor.native_end(k));
  }
  const bool keeps_up = request.options.issuers != Issuers::one_thread ||
                        beats(last, draft.calls, predictor.native_end(last));
  return keeps_up && (any || beats(last, draft.last, predictor.native_end(last)));
}

PlanPointer JointPlanner::plan_of(const Request& request, const JointDraft& chosen,
                                  std::size_t transfer) const {
  const JointPredictor& predictor = predictor_of(request, chosen);
  const JointTransfer& wanted = request.transfers[transfer];
  auto plan = std::make_shared<Plan>();
  plan->source = wanted.source, plan->destination = wanted.destination;
  plan->bytes = wanted.bytes;
  plan->shape = predictor.shape_of(chosen, transfer);
  plan->program = program_of(planner_.machine(), plan->shape, planner_.settings().staging_slots);
  plan->program.assign_events();
  plan->structure = structure_of(plan->program);
  plan->predicted = chosen.transfers[transfer].prediction.time;
  plan->native_predicted = predictor.native_end(transfer);
  explain(request, chosen, transfer, *plan);
  return plan;
}

const JointPredictor& JointPlanner::predictor_of(const Request& request, const JointDraft& chosen) {
  return chosen.executor == Executor::graph ? request.predictors.back()
                                            : request.predictors.front();
}

// Why the transfer must not use a path; empty if it may.
std::string JointPlanner::why_not(const Request& request, const Plan& plan,
                                  const Path& path) const {
  if (path.staged() && request.transfers.size() > kMostJointTransfers)
    return fmt::format("sets of more than {} transfers are native copies", kMostJointTransfers);
  return planner_.why_not(plan.source, plan.destination, path, request.each);
}

void JointPlanner::explain(const Request& request, const JointDraft& chosen, std::size_t transfer,
                           Plan& plan) const {
  const JointPredictor& predictor = predictor_of(request, chosen);
  const Draft& own = chosen.transfers[transfer];
  std::vector<Path> in_use;
  for (const Draft& each : chosen.transfers)
    for (const Path& path : paths_of(each)) in_use.push_back(path);
  const auto time_with = [&](const Path& path) {
    std::vector<Path> paths = paths_of(own);
    paths.push_back(path);
    JointDraft trial = chosen;
    trial.transfers[transfer] = predictor.splitter(transfer).closed_form_split(paths);
    predictor.predict(trial, Effort::replay);
    return PlanGrounds::With{trial.last, trial.regret > kAsGoodAsNatively};
  };
  const Seconds native = plan.native_predicted;
  const Path& direct = request.paths[transfer].front();
  const Seconds least_gain =
      native - planner_.to_beat(direct, plan.bytes, native, calls_of(request.options));
  const Explainer explainer(predictor.predictor(), plan,
                            {.least_gain = least_gain,
                             .smallest_planned = request.smallest[transfer],
                             .in_use = in_use,
                             .time_with = time_with,
                             .of_set = chosen.last});
  for (const Path& path : find_paths(planner_.machine(), plan.source, plan.destination))
    plan.decisions.push_back(
        explainer.decide(path, own.prediction, why_not(request, plan, path), false));
}

}  // namespace polypath::plan
