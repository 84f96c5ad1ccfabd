#include "collective/choose/choose.h"

#include <fmt/format.h>

#include <algorithm>

#include "collective/choose/allowed_algorithms.h"
#include "collective/choose/copies_at_once.h"
#include "collective/choose/explain_choice.h"
#include "collective/choose/largest_piece.h"
#include "collective/choose/played_part.h"
#include "collective/choose/time_of_program.h"
#include "core/error.h"
#include "model/issue.h"
#include "model/program_bound.h"

namespace polypath::collective {
namespace {

// The search stops after so many halvings without gain, not after one: the next one may be the
// first to overlap. Once one has gained, the next one without gain is the last.
constexpr int kMostInVain = 2;
constexpr double kLeastOfHalving = 1e-3;  // nor is one tried after many pieces gain less

// Of longer messages so many pieces are played for each rank, and so many fewer: enough for all
// steps of a pipeline to be under way, and with several paths for what a host's cache takes in at
// first.
constexpr std::uint64_t kPlayed = 5, kPlayedSeveral = 12, kFewer = 2;
constexpr std::uint64_t kPlayedOfLarge = 2;

// Several paths are tried with so many pieces for each rank first, if the message has more; trees
// with as many as are played of a large program.
constexpr std::uint64_t kTrialRounds = 3;
constexpr std::size_t kLargeProgram = 200;

// After playing so many nodes, the planner decides with the predictions that it has. With 10'000
// two collectives of 684 (those of results/simulated/plan_bounds.json, and of 64 KiB and 1 MiB) are
// predicted to take 2 % longer, and with 16'000 three gain 0.2 % at most.
constexpr std::size_t kMostPlayed = 12'000;

// Several paths are tried only if no more were played before: their shares take long to find. With
// 4'800 two of those collectives are predicted to take 0.5 % longer, with 6'000 none. The same
// holds of pieces between halvings, by which 10 of 171 collectives of 256 MiB gain 0.3 to 10 %.
constexpr std::size_t kMostBeforeMore = 6'000;

// Among nodes pieces are larger than a slot where calls take more than this part of what links
// need. Within a node large copies at once hold each other up (take_turns).
constexpr double kMostOfCalls = 0.25;

// Further halvings may gain so many times as much as the last one. What they save of a pipeline's
// start is once that, but 64 MiB on two nodes of `mist` gain 491, 585, 251, 167 and 81 us one after
// another. With 1 that plan is predicted to take 5 % longer, and no other of 324 as much.
constexpr double kMostOfHalvings = 1.6;

// Several paths are tried where one takes so many times as long as the GPUs' links together need,
// and of so many algorithms.
constexpr double kLeastHope = 1.15;
constexpr std::size_t kMostJoint = 2;
// Nor of one that keeps links busy for less than this part of its time: calls and waits have the
// rest. Of 1278 collectives one is predicted to take 0.8 % longer than if all were tried.
constexpr double kLeastOfLinks = 0.5;
// The other executor is not played of what takes so many times as long as the best.
constexpr double kMostByExecutor = 1.05;
// Nor over one path for so much more, if the message is so long that its first pieces do not count.
constexpr double kClearLossOfLong = 1.25;

// Between nodes all paths share the adapters.
std::vector<bool> path_choices(const Machine& machine, PathChoice paths) {
  if (paths == PathChoice::any && machine.nodes() > 1) return {false};
  if (paths == PathChoice::any) return {false, true};
  return {paths == PathChoice::several};
}

Variant variant_of(const CollectiveDraft& draft) {
  return {draft.algorithm, draft.tuning.radix, mode_of(draft.tuning)};
}

// Of a halving of many pieces.
bool is_little(Seconds gain, Seconds before, double beyond) {
  return beyond > 0 && gain < before * kLeastOfHalving;
}

bool may_be_halved(const CollectiveDraft& draft, const Settings& settings) {
  return !draft.algorithm->is_kernel &&
         draft.tuning.piece >= settings.min_chunk + settings.min_chunk;
}

std::vector<Executor> executors_of(const CollectiveOptions& options) {
  if (options.executor == Executor::native)
    fail(ErrorCode::invalid_argument, "a collective cannot be native copies",
         "it is a program of many", "Choose stream or graph.");
  if (options.executor) return {*options.executor};
  return {Executor::stream, Executor::graph};
}

}  // namespace

CollectivePlanner::CollectivePlanner(const Machine& machine, const Settings& settings)
    : machine_(machine),
      settings_(with_collective_slots(settings, machine)),
      rates_(machine_),
      routes_(machine_, settings_) {}

Seconds CollectivePlanner::play(const CollectiveRequest& request, Executor executor,
                                const Program& program, bool divided) {
  const auto [known, is_new] = plays_.try_emplace({&program, executor});
  if (!is_new) return known->second;
  played_ += program.nodes().size();
  return known->second = time_of_program(machine_, rates_, program, request, executor, divided);
}

// Programs of many nodes have many pieces for each rank.
CollectivePlanner::Sample CollectivePlanner::sample(const CollectiveRequest& request,
                                                    const CollectiveDraft& draft) const {
  const Tuning& tuning = draft.tuning;
  const auto nodes = nodes_.find(variant_of(draft));
  const bool is_large =
      draft.algorithm->more_with_radix && nodes != nodes_.end() && nodes->second > kLargeProgram;
  const std::uint64_t fewer = is_large ? 1 : kFewer;
  const std::uint64_t played = tuning.several_paths ? kPlayedSeveral
                               : is_large           ? kPlayedOfLarge
                                                    : kPlayed;
  Sample sample{request, request};
  if (draft.algorithm->is_kernel) return sample;  // a few nodes for messages of any size
  if (message_bytes(request) <= round_of(request, tuning) * (played + 1)) return sample;
  sample.smaller = of_rounds(request, tuning, played - fewer);
  sample.larger = of_rounds(request, tuning, played);
  const double larger = message_bytes(sample.larger).real();
  sample.beyond =
      (message_bytes(request).real() - larger) / (larger - message_bytes(sample.smaller).real());
  return sample;
}

// Pieces beyond all parts of a message make one program.
std::optional<Seconds> CollectivePlanner::time_of_same_program(const CollectiveDraft& draft,
                                                               const CollectiveRequest& request) {
  Tuning larger = draft.tuning;
  larger.piece = larger.piece * 2;
  join_slots(larger, settings_.staging_slot);
  const auto time = predictions_.find({draft.algorithm, larger, draft.executor});
  const auto program = programs_.find({draft.algorithm, larger, message_bytes(request).value});
  if (time == predictions_.end() || program == programs_.end()) return std::nullopt;
  if (most_over_a_hop(program->second) <= draft.tuning.piece) return time->second;
  const std::size_t nodes = program_for(draft, request).nodes().size();
  return nodes == program->second.nodes().size() ? std::optional(time->second) : std::nullopt;
}

const Program& CollectivePlanner::program_for(const CollectiveDraft& draft,
                                              const CollectiveRequest& request) {
  const std::tuple key{draft.algorithm, draft.tuning, message_bytes(request).value};
  const auto known = programs_.find(key);
  if (known != programs_.end()) return known->second;
  return programs_.emplace(key, build(*draft.algorithm, machine_, request, draft.tuning, &routes_))
      .first->second;
}

Seconds CollectivePlanner::predict(const CollectiveDraft& draft, const CollectiveRequest& request,
                                   const CollectiveOptions& options) {
  const auto [known, is_new] = predictions_.try_emplace(twins_.first_like(draft));
  if (!is_new) return known->second;
  const auto time_of = [&](const CollectiveRequest& of) {
    return play(of, draft.executor, program_for(draft, of), are_divided(options));
  };
  const Sample sample = this->sample(request, draft);
  if (sample.beyond == 0)
    if (const auto time = time_of_same_program(draft, request)) return known->second = *time;
  const Seconds larger = time_of(sample.larger);
  Seconds& time = known->second = larger;
  if (sample.beyond == 0 || larger == Seconds::infinity()) return time;
  if (draft.tuning.several_paths) return time = larger * times_of(request, sample.larger);
  return time = larger + (larger - time_of(sample.smaller)) * sample.beyond;
}

// By one executor; the other executor is tried with the best draft of the first. A draft that takes
// longer than `give_up` ends the search at once, and smaller pieces are not tried if the best draft
// is near `least`. Messages that are played for longer ones may take as long as their calls,
// independent of their size: hence no less than `least`. Halved pieces fill a pipeline in half the
// time: hence the limit of what further ones gain.
CollectiveDraft CollectivePlanner::best_piece(CollectiveDraft draft,
                                              const CollectiveRequest& request,
                                              const CollectiveOptions& options,
                                              const Limits& limits) {
  draft.executor = executors_of(options).back();
  CollectiveDraft best = draft;
  best.predicted = Seconds::infinity();
  int most_in_vain = draft.tuning.several_paths ? 1 : kMostInVain;
  Seconds before = Seconds::infinity();
  for (int in_vain = 0; in_vain < most_in_vain; draft.tuning.piece.value /= 2) {
    join_slots(draft.tuning, settings_.staging_slot);
    if (needs_too_many_calls(draft, request, limits.calls,
                             std::min(best.predicted, limits.to_beat)))
      break;
    draft.predicted = std::max(predict(draft, request, options), limits.least);
    const bool gains = draft.predicted < best.predicted;
    const bool is_impossible = draft.predicted == Seconds::infinity();
    // Pieces beyond all parts of a message make one program.
    if (gains) best = draft, in_vain = 0;
    else if (is_impossible || draft.predicted > best.predicted) ++in_vain;
    if (draft.predicted > limits.give_up || played_ > most_played_) return best;
    if (best.predicted < limits.least * kClearLoss || !may_be_halved(draft, settings_)) break;
    if (const Seconds gain = before - draft.predicted;
        gain > Seconds{} && before < Seconds::infinity()) {
      if (draft.predicted - gain * kMostOfHalvings > limits.to_beat) return best;
      if (is_little(gain, before, sample(request, draft).beyond)) break;
      most_in_vain = 1;
    }
    before = draft.predicted;
  }
  return by_best_executor(best, request, options, limits);
}

// A draft that has been played by the last one of the executors.
CollectiveDraft CollectivePlanner::by_best_executor(const CollectiveDraft& played,
                                                    const CollectiveRequest& request,
                                                    const CollectiveOptions& options,
                                                    const Limits& limits) {
  const std::vector<Executor> executors = executors_of(options);
  if (executors.size() == 1 || played.predicted > limits.to_beat * kMostByExecutor) return played;
  CollectiveDraft draft = played;
  draft.executor = executors.front();
  const Sample sample = this->sample(request, draft);
  const auto calls_of = [&](const CollectiveRequest& of) {
    return issue_times(machine_, program_for(draft, of), draft.executor).done;
  };
  if (!are_divided(options) && sample.time_by(calls_of) > played.predicted) return played;
  draft.predicted = std::max(predict(draft, request, options), limits.least);
  return draft.predicted < played.predicted ? draft : played;
}

CollectivePlanner::Candidate CollectivePlanner::candidate_of(const Algorithm& algorithm, int radix,
                                                             const SendMode& mode,
                                                             const CollectiveRequest& request,
                                                             const CollectiveOptions& options) {
  CollectiveDraft draft;
  set_mode(draft.tuning, mode);
  draft.algorithm = &algorithm;
  draft.tuning.private_memory = options.private_memory;
  draft.tuning.radix = radix;
  draft.tuning.multiprocessors = options.multiprocessors;
  draft.tuning.piece = std::min(settings_.staging_slot, message_bytes(request));
  const CollectiveRequest built = of_one_round(request, draft.tuning);
  Tuning bare = draft.tuning;
  bare.without_order = true;
  const Program program = build(algorithm, machine_, built, bare, &routes_);
  const double times = times_of(request, built);
  Candidate candidate{draft, Seconds::infinity(),   Seconds::infinity(), {},
                      {},    program.nodes().size()};
  if (are_divided(options) && !stays_within_reach(machine_, program)) return candidate;
  twins_.note(variant_of(draft), program);
  candidate.least = least_time(machine_, program, times);
  candidate.least_by_any_way = least_time_by_any_way(machine_, program, times);
  const double issuers = are_divided(options) ? request.size() : machine_.nodes();
  GraphCalls& calls = candidate.graph_calls;
  calls.of_node = machine_.costs.graph_launch_node * (1 / issuers);
  candidate.calls = calls.of_node * (static_cast<double>(candidate.nodes) * times);
  calls.of_byte = candidate.calls * draft.tuning.piece.real();
  if (machine_.nodes() > 1 && candidate.calls > candidate.least * kMostOfCalls)
    candidate.draft.tuning.piece =
        larger_piece(settings_.staging_slot, request, most_joined(algorithm, program),
                     candidate.calls / (candidate.least * kMostOfCalls));
  join_slots(candidate.draft.tuning, settings_.staging_slot);
  return candidate;
}

// A candidate that cannot be faster than `to_beat` is not played.
void CollectivePlanner::try_largest_piece(Entry& entry, const CollectiveRequest& request,
                                          const CollectiveOptions& options, Seconds to_beat) {
  AlgorithmDecision& decision = entry.decision;
  decision.draft.predicted = entry.least();
  for (Candidate* const candidate : entry.by_least()) {
    Candidate& each = *candidate;
    each.draft.predicted = Seconds::infinity();
    if (each.least * kClearLoss >= to_beat || each.least_calls() > to_beat * kClearLoss) continue;
    if (to_beat < Seconds::infinity() && played_ > most_played_) continue;
    CollectiveDraft draft = each.draft;
    draft.executor = executors_of(options).back();
    if (is_hopeless(draft, each, request, options, to_beat)) continue;
    draft.predicted = std::max(predict(draft, request, options), each.least);
    each.draft.predicted = draft.predicted;
    if (!decision.at_least && draft.predicted >= decision.draft.predicted) continue;
    decision.draft = draft;
    decision.at_least = false;
    to_beat = std::min(to_beat, draft.predicted);
  }
}

void CollectivePlanner::try_pieces(Entry& entry, const CollectiveRequest& request,
                                   const CollectiveOptions& options, Seconds to_beat) {
  AlgorithmDecision& decision = entry.decision;
  if (decision.at_least) return;
  to_beat = std::min(to_beat, decision.draft.predicted);
  std::ranges::stable_sort(entry.candidates, {},
                           [](const Candidate& each) { return each.draft.predicted; });
  for (const Candidate& each : entry.candidates) {
    if (each.least * kClearLoss >= to_beat || played_ > most_played_) continue;
    const bool is_long = sample(request, each.draft).beyond > 0;
    const Seconds give_up = is_long ? to_beat * kClearLossOfLong : Seconds::infinity();
    const CollectiveDraft draft =
        best_piece(each.draft, request, options, {each.least, give_up, to_beat, each.graph_calls});
    if (draft.predicted >= decision.draft.predicted) continue;
    decision.draft = draft;
    to_beat = std::min(to_beat, draft.predicted);
  }
}

void CollectivePlanner::try_one_path(std::vector<Entry>& entries, const CollectiveRequest& request,
                                     const CollectiveOptions& options, Seconds& best) {
  const auto note = [&](const Entry& entry) {
    if (!entry.decision.at_least) best = std::min(best, entry.counted());
  };
  for (Entry& each : entries) {
    try_largest_piece(each, request, options, each.to_beat(best));
    note(each);
  }
  std::ranges::stable_sort(
      entries, [](const Entry& a, const Entry& b) { return a.counted() < b.counted(); });
  // Each gets half of what is left, so that the first ones leave something for the others.
  const std::size_t most = most_played_;
  for (Entry& each : entries) {
    most_played_ = played_ < most ? (played_ + most) / 2 : most;
    try_pieces(each, request, options, each.to_beat(best));
    note(each);
  }
  most_played_ = most;
}

// Not if the links of their paths take too long by themselves, nothing is split, or the first
// pieces take longer than over one path; trees go over several paths anyway.
bool CollectivePlanner::may_gain_by_paths(CollectiveDraft draft, const CollectiveRequest& request,
                                          const CollectiveOptions& options, Seconds give_up) {
  draft.executor = executors_of(options).back();
  const std::uint64_t rounds = draft.algorithm->more_with_radix ? kPlayedOfLarge : kTrialRounds;
  const bool is_long = message_bytes(request) > round_of(request, draft.tuning) * rounds;
  const CollectiveRequest part = is_long ? of_rounds(request, draft.tuning, rounds) : request;
  const Program& split = program_for(draft, part);
  if (least_time(machine_, split, times_of(request, part)) > give_up) return false;
  draft.tuning.several_paths = false;
  const Program& whole = program_for(draft, part);
  if (split.nodes().size() == whole.nodes().size()) return false;
  if (!is_long) return true;
  const bool divided = are_divided(options);
  const double at_most = draft.algorithm->more_with_radix ? 1 : kClearLoss;
  return play(part, draft.executor, split, divided) <
         play(part, draft.executor, whole, divided) * at_most;
}

// The pieces and the radix are those that are best over one path: where several paths lose clearly
// then, to that or to the best of all, nothing else is tried.
void CollectivePlanner::try_several_paths(AlgorithmDecision& decision,
                                          const std::vector<Candidate>& candidates,
                                          const CollectiveRequest& request,
                                          const CollectiveOptions& options, Seconds to_beat) {
  for (const Candidate& each : candidates) {
    CollectiveDraft draft = each.draft;
    Seconds give_up = to_beat * kClearLoss;
    draft.tuning.several_paths = true;
    draft.tuning.piece = std::min(draft.tuning.piece, settings_.staging_slot);
    join_slots(draft.tuning, settings_.staging_slot);
    draft.tuning.in_turn = false;
    draft.tuning.by_joint_plan = options.paths == PathChoice::several;
    if (!decision.at_least) {
      if (variant_of(each.draft) != variant_of(decision.draft)) continue;
      draft.tuning.piece = std::min(decision.draft.tuning.piece, draft.tuning.piece);
      give_up = std::min(give_up, decision.draft.predicted * kClearLoss);
    }
    const bool by_links =
        decision.at_least || each.least > decision.draft.predicted * kLeastOfLinks;
    if (options.paths == PathChoice::any &&
        !(by_links && may_gain_by_paths(draft, request, options, give_up)))
      continue;
    draft = best_piece(draft, request, options, {each.least_by_any_way, give_up, to_beat});
    if (!decision.at_least && draft.predicted >= decision.draft.predicted) continue;
    decision.draft = draft;
    decision.at_least = false;
  }
}

CollectivePlan CollectivePlanner::plan(const CollectiveRequest& request,
                                       const CollectiveOptions& options) {
  CollectivePlan plan = choose(request, options);
  const CollectiveDraft& chosen = plan.chosen();
  plan.program = std::make_shared<const CollectiveProgram>(
      build(*chosen.algorithm, machine_, request, chosen.tuning, &routes_), chosen.executor);
  return plan;
}

// The fastest first. A joint plan of messages over several paths takes longer than all else here:
// it is made for the few that are best over one path, and where that is far from what the GPUs'
// links together allow.
CollectivePlan CollectivePlanner::choose(const CollectiveRequest& request,
                                         const CollectiveOptions& options) {
  check(machine_, request);
  most_played_ = played_ + kMostPlayed;
  programs_.clear();
  plays_.clear();
  predictions_.clear();
  nodes_.clear();
  twins_ = {};
  std::vector<Entry> entries = entries_of(request, options);
  Seconds best = Seconds::infinity();
  const bool one_path = !path_choices(machine_, options.paths).front();
  if (one_path) try_one_path(entries, request, options, best);
  const auto sort = [&] { Entry::sort_by_time(entries, best); };
  sort();
  const std::size_t most_before_more = most_played_ - (kMostPlayed - kMostBeforeMore);
  if (path_choices(machine_, options.paths).back()) {
    std::size_t tried = 0;
    for (Entry& each : entries) {
      const bool hopeful = each.counted(each.least_by_any_way()) * kLeastHope < best;
      const bool is_kernel = each.decision.draft.algorithm->is_kernel;
      // Over several paths they would not go in turn, and copies at once hold each other up.
      const bool in_turn = each.candidates.front().draft.tuning.in_turn;
      const bool in_vain = !hopeful || is_kernel || in_turn || tried == kMostJoint;
      if (one_path && (in_vain || played_ > most_before_more)) continue;
      ++tried;
      try_several_paths(each.decision, each.candidates, request, options, each.to_beat(best));
      best = std::min(best, each.counted());
    }
    sort();
  }
  if (played_ <= most_before_more) try_between_halvings(entries.front(), request, options);
  programs_.clear();
  plays_.clear();
  std::vector<AlgorithmDecision> decisions;
  for (Entry& each : entries) decisions.push_back(std::move(each.decision));
  explain(decisions);
  return {.request = request, .decisions = std::move(decisions), .program = nullptr};
}

// Where the first trees by hosts go by none, others hardly do.
void CollectivePlanner::add_candidates(Entry& entry, const Algorithm& algorithm,
                                       const CollectiveRequest& request,
                                       const CollectiveOptions& options, const SendMode& mode) {
  for (const int radix : radices_of(algorithm, request)) {
    if (algorithm.more_with_radix && !entry.is_worth_packing(radix, mode, request)) continue;
    if (mode.in_phases && !nodes_.contains({&algorithm, radix, {.by_hosts = true}})) continue;
    const Candidate candidate = candidate_of(algorithm, radix, mode, request, options);
    if (!entry.may_gain(candidate, request)) continue;
    const Variant variant{&algorithm, radix, mode};
    const bool is_known = twins_.is_like_another(variant);
    if (is_known && mode.by_hosts && !has_root(request.collective)) return;
    if (is_known) continue;
    nodes_[variant] = candidate.nodes;
    entry.candidates.push_back(candidate);
  }
}

std::vector<CollectivePlanner::Entry> CollectivePlanner::entries_of(
    const CollectiveRequest& request, const CollectiveOptions& options) {
  const bool turns = take_turns(machine_, request);
  std::vector<Entry> entries;
  for (const Algorithm* algorithm : allowed_algorithms(machine_, request, options)) {
    Entry entry;
    if (are_divided(options) && !algorithm->is_kernel)
      entry.weight += least_gain_of_copies(machine_, request.ranks, turns && algorithm->in_turn);
    if (turns && algorithm->in_turn) entry.more = cost_of_turns(machine_, request);
    for (const SendMode& mode : modes_of(machine_, *algorithm, request))
      add_candidates(entry, *algorithm, request, options, mode);
    if (entry.candidates.empty()) continue;
    entry.decision = {.draft = entry.candidates.front().draft, .at_least = true, .reason = {}};
    entries.push_back(std::move(entry));
  }
  Entry::sort_by_estimate(entries);
  return entries;
}

}  // namespace polypath::collective
