#include "collective/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/error.h"
#include "core/text.h"

namespace polypath {
namespace {

// Pieces are halved so often in vain before it is left: the next one may be the first to overlap.
constexpr int kMostInVain = 2;

// One engine makes all copies of a GPU to others: they leave by one port.
bool share_a_port(const Machine& machine, std::span<const PlaceId> ranks) {
  const auto hop = machine.find_hop(ranks[0], ranks[1]);
  return hop && std::ranges::any_of(machine.hop(*hop).uses, [&](const Use& use) {
           return machine.resource(use.resource).copies_at_once == 1;
         });
}

// What programs of copies must gain over one of kernels alone among ranks that are processes.
// Between two they take 0.95 to 1.26 times as long as predicted, kernels as long
// (results/h100x2/copies_among_ranks.json). Among four that share ports they take 1.15 to 1.86
// times as long (results/h100x4/collectives.json), rings 1.13 to 1.39 (collectives_ring.json), and
// kernels 1.09 at most from 8 MiB to 1 GiB (collectives_chosen.json).
double least_gain_of_copies(const Machine& machine, std::span<const PlaceId> ranks) {
  return ranks.size() > 2 && share_a_port(machine, ranks) ? 0.5 : 0.1;
}

std::vector<const Algorithm*> candidates(const Machine& machine, const CollectiveRequest& request,
                                         const CollectiveOptions& options) {
  std::vector<const Algorithm*> found;
  for (const std::string& name : options.algorithms) found.push_back(&find_algorithm(name));
  if (!found.empty()) return found;
  for (const Algorithm& each : algorithms())
    if (each.does(machine, request) && (options.kernels || !each.is_kernel) &&
        (options.any_order || each.keeps_order(machine, request)))
      found.push_back(&each);
  return found;
}

// Between nodes all paths share the adapters.
std::vector<bool> path_choices(const Machine& machine, PathChoice paths) {
  if (paths == PathChoice::any && machine.nodes() > 1) return {false};
  if (paths == PathChoice::any) return {false, true};
  return {paths == PathChoice::several};
}

// A base beyond the ranks is the same as their number.
std::vector<int> radices_of(const Algorithm& algorithm, const CollectiveRequest& request) {
  std::vector<int> radices = algorithm.radices;
  std::erase_if(radices, [&](int radix) { return radix > request.size(); });
  return radices;
}

bool are_divided(const CollectiveOptions& options) {
  return options.divided || options.private_memory;
}

std::vector<Executor> executors_of(const CollectiveOptions& options) {
  if (options.executor == Executor::native)
    fail(ErrorCode::invalid_argument, "a collective cannot be native copies",
         "it is a program of many", "Choose stream or graph.");
  if (options.executor) return {*options.executor};
  return {Executor::stream, Executor::graph};
}

std::string in_words(const CollectiveDraft& draft) {
  return fmt::format("pieces of {}, {}, {}", describe_bytes(draft.tuning.piece),
                     draft.tuning.several_paths ? "several paths" : "one path",
                     draft.executor == Executor::graph ? "a graph" : "streams");
}

void explain(std::vector<AlgorithmDecision>& decisions) {
  decisions.front().chosen = true;
  const Seconds best = decisions.front().draft.predicted;
  for (AlgorithmDecision& each : decisions) {
    if (each.draft.predicted == Seconds::infinity()) {
      each.reason = "cannot be done by ranks of their own: memory out of reach, or too many flags";
      continue;
    }
    const double factor = each.draft.predicted / best;
    each.reason = each.chosen ? fmt::format("is over first: {}", in_words(each.draft))
                              : fmt::format("takes {:.2f} times as long at its best: {}", factor,
                                            in_words(each.draft));
  }
}

}  // namespace

CollectivePlanner::CollectivePlanner(const Machine& machine, const Settings& settings)
    : machine_(machine),
      settings_(with_collective_slots(settings, machine)),
      rates_(machine_),
      routes_(machine_, settings_) {}

// Who keeps its memory private is a rank of its own. What needs too many flags, or memory that is
// out of reach, is out of the question.
Seconds CollectivePlanner::predict(const CollectiveRequest& request, Executor executor,
                                   const Program& program, bool divided) {
  if (!divided) return predicted_time(machine_, rates_, program, executor, request.ranks.front());
  if (!stays_within_reach(machine_, program)) return Seconds::infinity();
  try {
    const auto parts = project(machine_, program, request.ranks, RankMemorySizes{}.flags_per_pair,
                               entry_awaits_of(executor, request.collective));
    return predicted_time(machine_, rates_, parts, request.ranks, executor);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return Seconds::infinity();
  }
}

void CollectivePlanner::predict(CollectiveDraft& draft, const CollectiveRequest& request,
                                const CollectiveOptions& options, const Program& program) {
  draft.predicted = Seconds::infinity();
  for (const Executor executor : executors_of(options)) {
    const Seconds predicted = predict(request, executor, program, are_divided(options));
    if (predicted < draft.predicted) draft.predicted = predicted, draft.executor = executor;
  }
}

CollectiveDraft CollectivePlanner::best_piece(CollectiveDraft draft,
                                              const CollectiveRequest& request,
                                              const CollectiveOptions& options) {
  CollectiveDraft best = draft;
  best.predicted = Seconds::infinity();
  std::optional<std::size_t> nodes;  // there may be none: ranks that exchange nothing
  int in_vain = 0;
  draft.tuning.piece = std::min(settings_.staging_slot, message_bytes(request));
  for (; in_vain < kMostInVain; draft.tuning.piece.value /= 2) {
    const Program program = build(*draft.algorithm, machine_, request, draft.tuning, &routes_);
    if (program.nodes().size() != nodes) {
      nodes = program.nodes().size();
      predict(draft, request, options, program);
      in_vain = draft.predicted < best.predicted ? 0 : in_vain + 1;
      if (in_vain == 0) best = draft;
    }
    if (draft.tuning.piece < settings_.min_chunk + settings_.min_chunk) break;
  }
  return best;
}

CollectiveDraft CollectivePlanner::best_of(const Algorithm& algorithm,
                                           const CollectiveRequest& request,
                                           const CollectiveOptions& options) {
  CollectiveDraft best;
  best.algorithm = &algorithm;
  best.predicted = Seconds::infinity();
  for (const bool several : path_choices(machine_, options.paths))
    for (const int radix : radices_of(algorithm, request)) {
      CollectiveDraft draft;
      draft.algorithm = &algorithm;
      draft.tuning.several_paths = several;
      draft.tuning.private_memory = options.private_memory;
      draft.tuning.radix = radix;
      draft = best_piece(draft, request, options);
      if (draft.predicted < best.predicted) best = draft;
    }
  return best;
}

CollectivePlan CollectivePlanner::plan(const CollectiveRequest& request,
                                       const CollectiveOptions& options) {
  check(machine_, request);
  CollectivePlan plan{.request = request, .decisions = {}, .program = nullptr};
  for (const Algorithm* algorithm : candidates(machine_, request, options))
    plan.decisions.push_back({.draft = best_of(*algorithm, request, options), .reason = {}});
  const double of_copies = 1 + least_gain_of_copies(machine_, request.ranks);
  const auto counted = [&](const AlgorithmDecision& decision) {
    const bool certain = !are_divided(options) || decision.draft.algorithm->is_kernel;
    return decision.draft.predicted * (certain ? 1 : of_copies);
  };
  std::stable_sort(plan.decisions.begin(), plan.decisions.end(),
                   [&](const AlgorithmDecision& a, const AlgorithmDecision& b) {
                     return counted(a) < counted(b);
                   });
  explain(plan.decisions);
  const CollectiveDraft& chosen = plan.chosen();
  plan.program = std::make_shared<const CollectiveProgram>(
      build(*chosen.algorithm, machine_, request, chosen.tuning, &routes_), chosen.executor);
  return plan;
}

}  // namespace polypath
